"""Turns at the library's desk."""

from collections.abc import Iterator
from typing import Any

from story import Said, Story, only, turn

DAYS = (7, 10, 12, 28, 30, 35, 42)


def books_in(story: Story) -> Iterator[Any]:
    """Yield the books that nobody has or waits for."""
    state = story.state("Library")
    busy = {one.book_id for one in (*state.loans, *state.reservations)}
    return (book for book in state.books if book.book_id not in busy)


def free_members(story: Story) -> Iterator[Any]:
    """Yield the members who may borrow and have nothing yet."""
    state = story.state("Library")
    busy = {one.member_id for one in (*state.loans, *state.reservations)}
    return (one for one in state.members if not one.fine and one.member_id not in busy)


def lent(story: Story) -> tuple[Any, Any, Any]:
    """Draw a loan that no turn was about, with its book and its member. The member has no other."""
    state = story.state("Library")
    loan = story.new(state.loans)
    only(one for one in state.loans if one.member_id == loan.member_id)
    book = story.new(one for one in state.books if one.book_id == loan.book_id)
    member = story.new(one for one in state.members if one.member_id == loan.member_id)
    return loan, book, member


@turn("plain", "Library")
def lend(story: Story) -> Said:
    """Lend a book for so many days."""
    book, member, days = story.new(books_in(story)), story.new(free_members(story)), story.draw.one(DAYS)
    found = story.call("lend_book", book_id=book.book_id, member_id=member.member_id, days=days)
    story.note(loan=found["loan_id"], due=found["due"])
    return {"book": book.book_id, "member": member.member_id, "days": days}


@turn("plain", "Library")
def lend_as_usual(story: Story) -> Said:
    """Lend a book for the usual time."""
    book, member = story.new(books_in(story)), story.new(free_members(story))
    found = story.call("lend_book", book_id=book.book_id, member_id=member.member_id)
    story.note(loan=found["loan_id"], due=found["due"])
    return {"book": book.book_id, "member": member.member_id}


@turn("looked_up", "Library")
def lend_by_name(story: Story) -> Said:
    """Lend a book by its title to a member by name."""
    book, member, days = story.new(books_in(story)), story.new(free_members(story)), story.draw.one(DAYS)
    book_id = only(story.call("find_books", words=book.title)["books"])["book_id"]
    member_id = story.call("find_member", name=member.name)["member_id"]
    found = story.call("lend_book", book_id=book_id, member_id=member_id, days=days)
    story.note(loan=found["loan_id"], due=found["due"])
    return {"title": book.title, "name": member.name, "days": days}


@turn("plain", "Library")
def describe(story: Story) -> Said:
    """Ask about a book."""
    book = story.new(story.state("Library").books)
    story.call("describe_book", book_id=book.book_id)
    return {"book": book.book_id}


@turn("looked_up", "Library")
def describe_by_title(story: Story) -> Said:
    """Ask about a book by its title."""
    book = story.new(story.state("Library").books)
    story.call("describe_book", book_id=only(story.call("find_books", words=book.title)["books"])["book_id"])
    return {"title": book.title}


@turn("plain", "Library")
def give_back(story: Story) -> Said:
    """Take a book back."""
    _, book, _ = lent(story)
    story.call("return_book", book_id=book.book_id)
    return {"book": book.book_id}


@turn("looked_up", "Library")
def give_back_by_title(story: Story) -> Said:
    """Take a book back by its title."""
    _, book, _ = lent(story)
    story.call("return_book", book_id=only(story.call("find_books", words=book.title)["books"])["book_id"])
    return {"title": book.title}


@turn("plain", "Library")
def renew(story: Story) -> Said:
    """Renew a loan."""
    loan, _, _ = lent(story)
    days = story.draw.one(DAYS)
    story.note(loan=loan.loan_id, due=story.call("renew_loan", loan_id=loan.loan_id, days=days)["due"])
    return {"loan": loan.loan_id, "days": days}


@turn("looked_up", "Library")
def renew_by_name(story: Story) -> Said:
    """Renew the only loan of a member."""
    _, _, member = lent(story)
    member_id = story.call("find_member", name=member.name)["member_id"]
    loan = only(story.call("list_loans", member_id=member_id)["loans"])["loan_id"]
    days = story.draw.one(DAYS)
    story.note(loan=loan, due=story.call("renew_loan", loan_id=loan, days=days)["due"])
    return {"name": member.name, "days": days}


@turn("follows", "Library")
def renew_that(story: Story) -> Said:
    """Renew the loan the turn before was about."""
    loan, days = story.recall("loan"), story.draw.one(DAYS)
    story.note(loan=loan, due=story.call("renew_loan", loan_id=loan, days=days)["due"])
    return {"days": days}


@turn("plain", "Library")
def reserve(story: Story) -> Said:
    """Reserve a book that is lent."""
    _, book, _ = lent(story)
    member = story.new(free_members(story))
    found = story.call("reserve_book", book_id=book.book_id, member_id=member.member_id)
    story.note(reservation=found["reservation_id"])
    return {"book": book.book_id, "member": member.member_id}


@turn("looked_up", "Library")
def reserve_by_name(story: Story) -> Said:
    """Reserve a book by its title for a member by name."""
    _, book, _ = lent(story)
    member = story.new(free_members(story))
    book_id = only(story.call("find_books", words=book.title)["books"])["book_id"]
    member_id = story.call("find_member", name=member.name)["member_id"]
    found = story.call("reserve_book", book_id=book_id, member_id=member_id)
    story.note(reservation=found["reservation_id"])
    return {"title": book.title, "name": member.name}


@turn("plain", "Library")
def unreserve(story: Story) -> Said:
    """Cancel a reservation."""
    one = story.new(story.state("Library").reservations)
    story.call("cancel_reservation", reservation_id=one.reservation_id)
    return {"reservation": one.reservation_id}


@turn("follows", "Library")
def unreserve_that(story: Story) -> Said:
    """Cancel the reservation the turn before made."""
    story.call("cancel_reservation", reservation_id=story.recall("reservation"))
    return {}


@turn("plain", "Library")
def look_for_author(story: Story) -> Said:
    """Look for an author's books."""
    book = story.new(story.state("Library").books)
    story.call("find_books", words=book.author)
    return {"author": book.author}


@turn("plain", "Library")
def look_for_member(story: Story) -> Said:
    """Ask for a member's record."""
    member = story.new(story.state("Library").members)
    found = story.call("find_member", name=member.name)
    if found["fine"]:
        story.note(debtor=found["member_id"], fine=found["fine"])
    return {"name": member.name}


@turn("plain", "Library")
def loans_of(story: Story) -> Said:
    """Ask what a member has."""
    _, _, member = lent(story)
    story.call("list_loans", member_id=member.member_id)
    return {"member": member.member_id}


@turn("plain", "Library")
def pay(story: Story) -> Said:
    """Pay a part of a fine."""
    member = story.new(one for one in story.state("Library").members if one.fine > 1)
    amount = round(member.fine - story.draw.integer((1, 4)) / 5, 2)
    story.call("pay_fine", member_id=member.member_id, amount=amount)
    return {"member": member.member_id, "amount": amount}


@turn("looked_up", "Library")
def pay_all(story: Story) -> Said:
    """Pay all that a member owes."""
    member = story.new(one for one in story.state("Library").members if one.fine)
    found = story.call("find_member", name=member.name)
    story.call("pay_fine", member_id=found["member_id"], amount=found["fine"])
    return {"name": member.name}


@turn("follows", "Library")
def pay_that(story: Story) -> Said:
    """Pay the fine the turn before told."""
    story.call("pay_fine", member_id=story.recall("debtor"), amount=story.recall("fine"))
    return {}
