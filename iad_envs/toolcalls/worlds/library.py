"""The lending desk of a library: books, members, loans and reservations."""

from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

from iad_envs.toolcalls.worlds.functions import After, FunctionWorld, Refused, known, named, replaced, without


class Book(NamedTuple):
    """A copy on a shelf."""

    book_id: str
    title: str
    author: str
    subject: str
    shelf: str


class LibraryMember(NamedTuple):
    """Who may borrow; the fine is what is owed."""

    member_id: str
    name: str
    fine: float = 0.0


class Loan(NamedTuple):
    """A book that is out, until the day it is due, as YYYY-MM-DD."""

    loan_id: str
    book_id: str
    member_id: str
    due: str


class BookReservation(NamedTuple):
    """A member's place in the queue for a book."""

    reservation_id: str
    book_id: str
    member_id: str


class LibraryState(NamedTuple):
    """What the desk knows. Loans and reservations are numbered together."""

    today: str = "2026-01-05"
    next_number: int = 1
    books: tuple[Book, ...] = ()
    members: tuple[LibraryMember, ...] = ()
    loans: tuple[Loan, ...] = ()
    reservations: tuple[BookReservation, ...] = ()


class LibraryWorld(FunctionWorld[LibraryState]):
    """Ten functions of a library's desk."""

    name = "Library"
    state = LibraryState
    lasting = frozenset(("cancel_reservation", "pay_fine"))

    def find_books(self, state: LibraryState, words: str) -> After[LibraryState]:
        """Find books by words of their title or author."""
        sought = words.strip().lower()
        books = [
            {"book_id": book.book_id, "title": book.title, "author": book.author}
            for book in state.books
            if sought and (sought in book.title.lower() or sought in book.author.lower())
        ]
        if not books:
            raise Refused(f"No book has {words!r} in its title or author.")
        return state, {"books": books}

    def describe_book(self, state: LibraryState, book_id: str) -> After[LibraryState]:
        """Describe a book."""
        book = known(state.books, book_id, "book")
        loan = _loan_of(state, book_id)
        return state, book._asdict() | {"status": "lent" if loan else "in", "due": loan.due if loan else ""}

    def find_member(self, state: LibraryState, name: str) -> After[LibraryState]:
        """Find a member by name."""
        return state, named(state.members, name, f"No member is called {name!r}.")._asdict()

    def list_loans(self, state: LibraryState, member_id: str) -> After[LibraryState]:
        """List a member's loans."""
        known(state.members, member_id, "member")
        titles = {book.book_id: book.title for book in state.books}
        loans = [
            {"loan_id": one.loan_id, "book_id": one.book_id, "title": titles.get(one.book_id, ""), "due": one.due}
            for one in state.loans
            if one.member_id == member_id
        ]
        return state, {"loans": loans}

    def lend_book(self, state: LibraryState, book_id: str, member_id: str, days: int = 21) -> After[LibraryState]:
        """Lend a book."""
        book, member = known(state.books, book_id, "book"), known(state.members, member_id, "member")
        if _loan_of(state, book.book_id):
            raise Refused(f"{book_id} is lent already.")
        if member.fine > 10.0:
            raise Refused(f"{member.name} owes {member.fine:.2f}, and has to pay first.")
        waiting = [one for one in state.reservations if one.book_id == book_id]
        if waiting and waiting[0].member_id != member_id:
            raise Refused(f"{book_id} is reserved for {waiting[0].member_id}.")
        loan = Loan(f"LN-{state.next_number}", book_id, member_id, _later(state.today, _allowed(days)))
        after = state._replace(
            next_number=state.next_number + 1,
            loans=(*state.loans, loan),
            reservations=without(state.reservations, waiting[0].reservation_id) if waiting else state.reservations,
        )
        return after, {"loan_id": loan.loan_id, "due": loan.due}

    def renew_loan(self, state: LibraryState, loan_id: str, days: int = 14) -> After[LibraryState]:
        """Prolong a loan."""
        loan = known(state.loans, loan_id, "loan")
        if any(one.book_id == loan.book_id for one in state.reservations):
            raise Refused(f"{loan.book_id} is reserved, so {loan_id} can't be renewed.")
        new = loan._replace(due=_later(loan.due, _allowed(days)))
        return state._replace(loans=replaced(state.loans, new)), {"loan_id": loan_id, "due": new.due}

    def return_book(self, state: LibraryState, book_id: str) -> After[LibraryState]:
        """Take a book back."""
        known(state.books, book_id, "book")
        loan = _loan_of(state, book_id)
        if loan is None:
            raise Refused(f"{book_id} is not lent.")
        late = max(0, (date.fromisoformat(state.today) - date.fromisoformat(loan.due)).days)
        fine = round(late * 0.2, 2)
        member = known(state.members, loan.member_id, "member")
        after = state._replace(
            loans=without(state.loans, loan.loan_id),
            members=replaced(state.members, member._replace(fine=round(member.fine + fine, 2))),
        )
        return after, {"book_id": book_id, "member_id": loan.member_id, "days_late": late, "fine": fine}

    def reserve_book(self, state: LibraryState, book_id: str, member_id: str) -> After[LibraryState]:
        """Reserve a book."""
        known(state.books, book_id, "book")
        known(state.members, member_id, "member")
        waiting = [one for one in state.reservations if one.book_id == book_id]
        if any(one.member_id == member_id for one in waiting):
            raise Refused(f"{member_id} has reserved {book_id} already.")
        new = BookReservation(f"RS-{state.next_number}", book_id, member_id)
        after = state._replace(next_number=state.next_number + 1, reservations=(*state.reservations, new))
        return after, {"reservation_id": new.reservation_id, "place": len(waiting) + 1}

    def cancel_reservation(self, state: LibraryState, reservation_id: str) -> After[LibraryState]:
        """Cancel a reservation."""
        known(state.reservations, reservation_id, "reservation")
        after = state._replace(reservations=without(state.reservations, reservation_id))
        return after, {"reservation_id": reservation_id, "status": "cancelled"}

    def pay_fine(self, state: LibraryState, member_id: str, amount: float) -> After[LibraryState]:
        """Pay a fine."""
        member = known(state.members, member_id, "member")
        if not 0 < amount <= member.fine:
            raise Refused(f"amount must be more than 0 and at most {member.fine:.2f}, got {amount}.")
        new = member._replace(fine=round(member.fine - amount, 2))
        after = state._replace(members=replaced(state.members, new))
        return after, {"member_id": member_id, "paid": round(float(amount), 2), "fine": new.fine}


def _loan_of(state: LibraryState, book_id: str) -> Loan | None:
    return next((loan for loan in state.loans if loan.book_id == book_id), None)


def _allowed(days: int) -> int:
    if not 1 <= days <= 60:
        raise Refused(f"days must be 1 to 60, got {days}.")
    return days


def _later(day: str, days: int) -> str:
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


@cache
def more_books() -> tuple[Book, ...]:
    """Return the books of a long context."""
    subjects = ("tables", "statutes", "timetables", "almanacs")
    return tuple(
        Book(f"BK-{9000 + number}", f"Register {number}, part {part}", "Public Records", subjects[part], f"Z{number}")
        for number in range(80)
        for part in range(4)
    )


@cache
def more_members() -> tuple[LibraryMember, ...]:
    """Return the members of a long context."""
    return tuple(LibraryMember(f"MB-{9000 + number}", f"Reader {number}") for number in range(200))


LibraryWorld.more = {"books": more_books, "members": more_members}
