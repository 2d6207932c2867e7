"""Turns with the calculator, and turns in which what one world returns goes into another."""

from library_turns import books_in, free_members
from mail_turns import inbox_mail
from notebook_turns import notes_here
from parcels_turns import address, weight
from scenes import later
from story import Said, Story, Unfit, only, spoken, turn

LENGTHS = (("feet", "metres"), ("miles", "kilometres"), ("inches", "centimetres"))
WEIGHTS = (("pounds", "kilograms"), ("ounces", "grams"), ("kilograms", "pounds"))
VOLUMES = (("gallons", "litres"), ("pints", "millilitres"), ("litres", "gallons"))
TEMPERATURES = (("fahrenheit", "celsius"), ("celsius", "fahrenheit"))


@turn("plain", "Units")
def length(story: Story) -> Said:
    """Convert a length."""
    (old, new), value = story.draw.one(LENGTHS), story.draw.integer((3, 90))
    story.call("convert_length", value=value, from_unit=old, to_unit=new)
    return {"value": value, "old": old, "new": new}


@turn("plain", "Units")
def mass(story: Story) -> Said:
    """Convert a weight."""
    (old, new), value = story.draw.one(WEIGHTS), story.draw.integer((3, 60))
    found = story.call("convert_weight", value=value, from_unit=old, to_unit=new)
    if new == "kilograms" and found["value"] <= 30:
        story.note(kilos=found["value"])
    return {"value": value, "old": old, "new": new}


@turn("plain", "Units")
def volume(story: Story) -> Said:
    """Convert a volume."""
    (old, new), value = story.draw.one(VOLUMES), story.draw.integer((2, 30))
    found = story.call("convert_volume", value=value, from_unit=old, to_unit=new)
    if new == "litres":
        story.note(litres=found["value"])
    return {"value": value, "old": old, "new": new}


@turn("plain", "Units")
def degrees(story: Story) -> Said:
    """Convert a temperature."""
    old, new = story.draw.one(TEMPERATURES)
    value = story.draw.integer((50, 84) if old == "fahrenheit" else (6, 38))
    found = story.call("convert_temperature", value=value, from_unit=old, to_unit=new)
    if new == "celsius":
        story.note(degrees=found["value"])
    return {"value": value, "old": old, "new": new}


@turn("plain", "Units")
def total(story: Story) -> Said:
    """Add three numbers."""
    values = [story.draw.integer((40, 1900)) / 10 for _ in range(3)]
    story.note(total=story.call("total_of", values=values)["value"])
    return {"first": values[0], "second": values[1], "third": values[2]}


@turn("plain", "Units")
def average(story: Story) -> Said:
    """Average four numbers."""
    values = [story.draw.integer((11, 90)) for _ in range(4)]
    story.call("average_of", values=values)
    return dict(zip(("first", "second", "third", "fourth"), values, strict=True))


@turn("plain", "Units")
def percentage(story: Story) -> Said:
    """Take a percentage."""
    amount, percent = 5 * story.draw.integer((8, 60)), story.draw.one((6, 8, 15, 35, 45))
    story.note(share=story.call("percent_of", amount=amount, percent=percent)["value"])
    return {"amount": amount, "percent": percent}


@turn("plain", "Units")
def days(story: Story) -> Said:
    """Count days."""
    start = later(story.scene.today, story.draw.integer((0, 30)))
    end = later(start, story.draw.integer((12, 160)))
    story.call("days_between", start=start, end=end)
    return {"start": spoken(start), "end": spoken(end)}


@turn("looked_up", "Units", "Library")
def lend_until(story: Story) -> Said:
    """Lend a book for the days between two dates."""
    end = later(story.scene.today, story.draw.integer((5, 55)))
    book, member = story.new(books_in(story)), story.new(free_members(story))
    found = story.call("days_between", start=story.scene.today, end=end)["days"]
    lent = story.call("lend_book", book_id=book.book_id, member_id=member.member_id, days=found)
    story.note(loan=lent["loan_id"], due=lent["due"])
    return {
        "book": book.book_id,
        "member": member.member_id,
        "start": spoken(story.scene.today),
        "end": spoken(end),
    }


@turn("looked_up", "Units", "Greenhouse")
def water_gallons(story: Story) -> Said:
    """Water a bed with so many gallons."""
    bed, gallons = story.new(story.state("Greenhouse").beds), story.draw.integer((1, 9))
    litres = story.call("convert_volume", value=gallons, from_unit="gallons", to_unit="litres")["value"]
    story.call("water_bed", bed_id=bed.bed_id, litres=litres)
    story.note(bed=bed.bed_id)
    return {"bed": bed.bed_id, "gallons": gallons}


@turn("follows", "Units", "Greenhouse")
def water_with_that(story: Story) -> Said:
    """Water a bed with the litres the turn before told."""
    litres, bed = story.recall("litres"), story.new(story.state("Greenhouse").beds)
    story.call("water_bed", bed_id=bed.bed_id, litres=litres)
    story.note(bed=bed.bed_id)
    return {"bed": bed.bed_id}


@turn("looked_up", "Units", "Greenhouse")
def warm_fahrenheit(story: Story) -> Said:
    """Set a temperature that is given in fahrenheit."""
    zone, value = story.new(story.state("Greenhouse").zones), story.draw.integer((55, 88))
    found = story.call("convert_temperature", value=value, from_unit="fahrenheit", to_unit="celsius")["value"]
    story.call("set_climate", zone=zone.zone, temperature=found)
    return {"zone": zone.zone, "value": value}


@turn("follows", "Units", "Greenhouse")
def warm_to_that(story: Story) -> Said:
    """Set the temperature the turn before told."""
    value, zone = story.recall("degrees"), story.new(story.state("Greenhouse").zones)
    story.call("set_climate", zone=zone.zone, temperature=value)
    return {"zone": zone.zone}


@turn("looked_up", "Units", "Parcels")
def ship_pounds(story: Story) -> Said:
    """Make a parcel whose weight is given in pounds."""
    to, value = address(story), story.draw.integer((3, 60))
    kilos = story.call("convert_weight", value=value, from_unit="pounds", to_unit="kilograms")["value"]
    found = story.call("create_parcel", address_id=to.address_id, weight_kg=kilos)
    story.note(unpaid=found["parcel_id"], parcel=found["parcel_id"])
    return {"address": to.address_id, "pounds": value}


@turn("follows", "Units", "Parcels")
def ship_that_weight(story: Story) -> Said:
    """Make a parcel of the kilograms the turn before told."""
    kilos, to = story.recall("kilos"), address(story)
    found = story.call("create_parcel", address_id=to.address_id, weight_kg=kilos)
    story.note(unpaid=found["parcel_id"], parcel=found["parcel_id"])
    return {"address": to.address_id}


@turn("looked_up", "Units", "Parcels")
def insure_total(story: Story) -> Said:
    """Insure a parcel for what three things are worth together."""
    one = story.new(one for one in story.state("Parcels").parcels if one.status == "unpaid" and not one.value)
    values = [story.draw.integer((8, 90)) for _ in range(3)]
    value = story.call("total_of", values=values)["value"]
    story.call("insure_parcel", parcel_id=one.parcel_id, value=value)
    story.note(unpaid=one.parcel_id, parcel=one.parcel_id)
    return {"parcel": one.parcel_id, "first": values[0], "second": values[1], "third": values[2]}


@turn("follows", "Units", "Parcels")
def insure_for_that(story: Story) -> Said:
    """Insure a parcel for the total the turn before told."""
    value = story.recall("total")
    one = story.new(one for one in story.state("Parcels").parcels if one.status == "unpaid" and not one.value)
    story.call("insure_parcel", parcel_id=one.parcel_id, value=value)
    story.note(unpaid=one.parcel_id, parcel=one.parcel_id)
    return {"parcel": one.parcel_id}


@turn("follows", "Library", "Mail")
def mail_due(story: Story) -> Said:
    """Send somebody the day the loan of the turn before is due."""
    due, contact, subject = story.recall("due"), story.new(story.state("Mail").contacts), story.word("subjects")
    to = story.call("find_contact", name=contact.name)["address"]
    draft = story.call("draft_mail", to=to, subject=subject, body=due)["mail_id"]
    story.call("send_draft", mail_id=draft)
    return {"name": contact.name, "subject": subject}


@turn("follows", "Parcels", "Mail")
def mail_parcel(story: Story) -> Said:
    """Send an address the number of the parcel the turn before was about."""
    parcel, contact = story.recall("parcel"), story.new(story.state("Mail").contacts)
    subject = story.word("subjects")
    draft = story.call("draft_mail", to=contact.address, subject=subject, body=parcel)["mail_id"]
    story.call("send_draft", mail_id=draft)
    return {"address": contact.address, "subject": subject}


@turn("looked_up", "Notebook", "Mail")
def mail_note(story: Story) -> Said:
    """Answer a mail with the text of a note."""
    note, mail = story.new(notes_here(story)), inbox_mail(story)
    text = story.call("read_note", title=note.title)["text"]
    if not text or "\n" in text:
        raise Unfit
    story.call("reply_mail", mail_id=mail.mail_id, body=text)
    return {"title": note.title, "mail": mail.mail_id}


@turn("looked_up", "Notebook", "Mail")
def note_mail(story: Story) -> Said:
    """Keep the text of a mail as a note."""
    mail, title = inbox_mail(story), story.word("titles")
    body = story.call("open_mail", mail_id=mail.mail_id)["body"]
    story.call("write_note", title=title, text=body)
    story.note(title=title)
    return {"mail": mail.mail_id, "title": title}


@turn("follows", "Library", "Notebook")
def note_due(story: Story) -> Said:
    """Keep the day the loan of the turn before is due."""
    due, title = story.recall("due"), story.word("titles")
    story.call("write_note", title=title, text=due)
    story.note(title=title)
    return {"title": title}


@turn("follows", "Parcels", "Notebook")
def note_parcel(story: Story) -> Said:
    """Keep the number of the parcel the turn before was about, in a note that is there."""
    parcel, note = story.recall("parcel"), story.new(notes_here(story))
    story.call("append_line", title=note.title, text=parcel)
    story.note(title=note.title)
    return {"title": note.title}


@turn("looked_up", "Library", "Parcels")
def ship_to_member(story: Story) -> Said:
    """Lend a book and make a parcel to the same person, both by name."""
    names = {one.name for one in story.state("Parcels").addresses}
    member = story.new(one for one in free_members(story) if one.name in names)
    book, kilos = story.new(books_in(story)), weight(story)
    to = story.new(one for one in story.state("Parcels").addresses if one.name == member.name)
    member_id = story.call("find_member", name=member.name)["member_id"]
    story.call("lend_book", book_id=book.book_id, member_id=member_id)
    address_id = story.call("find_address", name=to.name)["address_id"]
    found = story.call("create_parcel", address_id=address_id, weight_kg=kilos)
    story.note(unpaid=found["parcel_id"], parcel=found["parcel_id"])
    return {"book": book.book_id, "name": member.name, "kilos": kilos}


@turn("looked_up", "Greenhouse", "Notebook")
def note_planting(story: Story) -> Said:
    """Look where a species grows, and keep the bed's id in a note."""
    planting = story.new(story.state("Greenhouse").plantings)
    title = story.word("titles")
    bed = only(story.call("find_plantings", species=planting.species)["plantings"])["bed_id"]
    story.call("write_note", title=title, text=bed)
    story.note(title=title)
    return {"species": planting.species, "title": title}


@turn("looked_up", "Greenhouse", "Mail")
def mail_bed(story: Story) -> Said:
    """Tell an address in which bed a species grows."""
    planting, contact = story.new(story.state("Greenhouse").plantings), story.new(story.state("Mail").contacts)
    subject = story.word("subjects")
    bed = only(story.call("find_plantings", species=planting.species)["plantings"])["bed_id"]
    story.note(draft=story.call("draft_mail", to=contact.address, subject=subject, body=bed)["mail_id"])
    return {"species": planting.species, "address": contact.address, "subject": subject}
