"""Turns at the parcel counter."""

from typing import Any

from scenes import later
from story import Said, Story, Unfit, only, spoken, turn

SERVICES = ("express", "overnight", "standard")
SLOTS = ("afternoon", "evening", "morning")


def address(story: Story) -> Any:
    """Draw an address that no turn was about."""
    return story.new(story.state("Parcels").addresses)


def weight(story: Story) -> float:
    """Draw a weight in kilograms."""
    halves: int = story.draw.integer((2, 40))
    return halves / 2 if halves % 2 else halves // 2


def parcel(story: Story, *statuses: str) -> Any:
    """Draw a parcel that no turn was about."""
    return story.new(one for one in story.state("Parcels").parcels if one.status in statuses)


def day(story: Story) -> str:
    """Draw a day within six weeks."""
    return later(story.scene.today, story.draw.integer((1, 40)))


@turn("plain", "Parcels")
def quote(story: Story) -> Said:
    """Ask for a price."""
    to, kilos, service = address(story), weight(story), story.draw.one(SERVICES[:2])
    story.call("quote_parcel", address_id=to.address_id, weight_kg=kilos, service=service)
    return {"address": to.address_id, "kilos": kilos, "service": service}


@turn("looked_up", "Parcels")
def quote_by_name(story: Story) -> Said:
    """Ask for a price to somebody by name."""
    to, kilos, service = address(story), weight(story), story.draw.one(SERVICES[:2])
    address_id = story.call("find_address", name=to.name)["address_id"]
    story.call("quote_parcel", address_id=address_id, weight_kg=kilos, service=service)
    story.note(quoted=(address_id, kilos, service))
    return {"name": to.name, "kilos": kilos, "service": service}


@turn("follows", "Parcels")
def make_quoted(story: Story) -> Said:
    """Make the parcel whose price the turn before told."""
    address_id, kilos, service = story.recall("quoted")
    found = story.call("create_parcel", address_id=address_id, weight_kg=kilos, service=service)
    story.note(unpaid=found["parcel_id"], parcel=found["parcel_id"])
    return {}


@turn("plain", "Parcels")
def ship(story: Story) -> Said:
    """Make a parcel."""
    to, kilos, service = address(story), weight(story), story.draw.one(SERVICES[:2])
    found = story.call("create_parcel", address_id=to.address_id, weight_kg=kilos, service=service)
    story.note(unpaid=found["parcel_id"], parcel=found["parcel_id"])
    return {"address": to.address_id, "kilos": kilos, "service": service}


@turn("looked_up", "Parcels")
def ship_by_name(story: Story) -> Said:
    """Make a parcel to somebody by name, by the usual service."""
    to, kilos = address(story), weight(story)
    address_id = story.call("find_address", name=to.name)["address_id"]
    found = story.call("create_parcel", address_id=address_id, weight_kg=kilos)
    story.note(unpaid=found["parcel_id"], parcel=found["parcel_id"])
    return {"name": to.name, "kilos": kilos}


@turn("looked_up", "Parcels")
def ship_to_new(story: Story) -> Said:
    """Save an address and make a parcel to it."""
    name = story.new(one for one in story.scene.people if one not in {a.name for a in story.state("Parcels").addresses})
    street, city, kilos = story.word("streets"), story.draw.one(story.scene.words["cities"]), weight(story)
    service = story.draw.one(SERVICES[:2])
    address_id = story.call("save_address", name=name, street=street, city=city)["address_id"]
    found = story.call("create_parcel", address_id=address_id, weight_kg=kilos, service=service)
    story.note(unpaid=found["parcel_id"], parcel=found["parcel_id"])
    return {"name": name, "street": street, "city": city, "kilos": kilos, "service": service}


@turn("plain", "Parcels")
def save(story: Story) -> Said:
    """Save an address."""
    name = story.new(one for one in story.scene.people if one not in {a.name for a in story.state("Parcels").addresses})
    street, city = story.word("streets"), story.draw.one(story.scene.words["cities"])
    story.call("save_address", name=name, street=street, city=city)
    return {"name": name, "street": street, "city": city}


@turn("plain", "Parcels")
def settle(story: Story) -> Said:
    """Pay for a parcel."""
    one = parcel(story, "unpaid")
    card = story.new(card for card in story.state("Parcels").cards if card.balance >= one.price)
    story.call("pay_parcel", parcel_id=one.parcel_id, card_id=card.card_id)
    story.note(paid=one.parcel_id, parcel=one.parcel_id)
    return {"parcel": one.parcel_id, "card": card.card_id}


@turn("looked_up", "Parcels")
def settle_by_label(story: Story) -> Said:
    """Pay for a parcel with a card by its label."""
    one = parcel(story, "unpaid")
    card = story.new(card for card in story.state("Parcels").cards if card.balance >= one.price)
    cards = story.call("list_cards")["cards"]
    card_id = only(entry for entry in cards if entry["label"] == card.label)["card_id"]
    story.call("pay_parcel", parcel_id=one.parcel_id, card_id=card_id)
    story.note(paid=one.parcel_id, parcel=one.parcel_id)
    return {"parcel": one.parcel_id, "label": card.label}


@turn("follows", "Parcels")
def settle_that(story: Story) -> Said:
    """Pay for the parcel the turn before was about."""
    one = story.recall("unpaid")
    card = story.new(card for card in story.state("Parcels").cards if card.balance >= 80)
    cards = story.call("list_cards")["cards"]
    card_id = only(entry for entry in cards if entry["label"] == card.label)["card_id"]
    story.call("pay_parcel", parcel_id=one, card_id=card_id)
    story.note(paid=one, parcel=one)
    return {"label": card.label}


@turn("plain", "Parcels")
def insure(story: Story) -> Said:
    """Insure a parcel."""
    one, value = parcel(story, "unpaid"), 10 * story.draw.integer((4, 60))
    story.call("insure_parcel", parcel_id=one.parcel_id, value=value)
    story.note(unpaid=one.parcel_id, parcel=one.parcel_id)
    return {"parcel": one.parcel_id, "value": value}


@turn("follows", "Parcels")
def insure_that(story: Story) -> Said:
    """Insure the parcel the turn before was about."""
    one, value = story.recall("unpaid"), 10 * story.draw.integer((4, 60))
    story.call("insure_parcel", parcel_id=one, value=value)
    story.note(unpaid=one, parcel=one)
    return {"value": value}


@turn("plain", "Parcels")
def fetch(story: Story) -> Said:
    """Book a pickup."""
    one, when, slot = parcel(story, "paid"), day(story), story.draw.one(SLOTS[:2])
    story.call("book_pickup", parcel_id=one.parcel_id, day=when, slot=slot)
    story.note(parcel=one.parcel_id)
    return {"parcel": one.parcel_id, "day": spoken(when), "slot": slot}


@turn("follows", "Parcels")
def fetch_that(story: Story) -> Said:
    """Book a pickup for the parcel the turn before paid."""
    one, when, slot = story.recall("paid"), day(story), story.draw.one(SLOTS)
    story.call("book_pickup", parcel_id=one, day=when, slot=slot)
    story.note(parcel=one)
    return {"day": spoken(when), "slot": slot}


@turn("plain", "Parcels")
def track(story: Story) -> Said:
    """Track a parcel."""
    one = parcel(story, "unpaid", "paid", "booked")
    story.call("track_parcel", parcel_id=one.parcel_id)
    return {"parcel": one.parcel_id}


@turn("follows", "Parcels")
def track_that(story: Story) -> Said:
    """Track the parcel the turn before was about."""
    one = story.recall("parcel")
    story.call("track_parcel", parcel_id=one)
    story.note(parcel=one)
    return {}


@turn("plain", "Parcels")
def call_off(story: Story) -> Said:
    """Cancel a parcel."""
    one = parcel(story, "unpaid", "paid", "booked")
    story.call("cancel_parcel", parcel_id=one.parcel_id)
    return {"parcel": one.parcel_id}


@turn("follows", "Parcels")
def call_off_that(story: Story) -> Said:
    """Cancel the parcel the turn before was about."""
    if len(story.turns) < 2:
        raise Unfit
    story.call("cancel_parcel", parcel_id=story.recall("parcel"))
    return {}


@turn("plain", "Parcels")
def ask_cards(story: Story) -> Said:
    """Ask for the cards."""
    story.call("list_cards")
    return {}
