"""A parcel service: addresses, parcels, cards to pay with, and pickups."""

from collections.abc import Mapping
from datetime import date
from functools import cache
from typing import Literal, NamedTuple

from iad_envs.toolcalls.worlds.functions import After, FunctionWorld, Refused, day_of, known, named, replaced, without

Service = Literal["standard", "express", "overnight"]
Slot = Literal["morning", "afternoon", "evening"]


class PostalAddress(NamedTuple):
    """Where parcels go."""

    address_id: str
    name: str
    street: str
    city: str


class Parcel(NamedTuple):
    """A parcel; it is `unpaid`, `paid` or `booked` for a pickup. The card is the one that paid."""

    parcel_id: str
    address_id: str
    weight_kg: float
    service: str
    price: float
    value: float = 0.0
    status: str = "unpaid"
    card_id: str = ""


class PaymentCard(NamedTuple):
    """A card, and what is on it."""

    card_id: str
    label: str
    balance: float


class ParcelPickup(NamedTuple):
    """When a parcel is fetched; the day is YYYY-MM-DD."""

    pickup_id: str
    parcel_id: str
    day: str
    slot: str


class ParcelsState(NamedTuple):
    """What the service knows. All that is new is numbered together."""

    today: str = "2026-01-05"
    next_number: int = 1
    addresses: tuple[PostalAddress, ...] = ()
    parcels: tuple[Parcel, ...] = ()
    cards: tuple[PaymentCard, ...] = ()
    pickups: tuple[ParcelPickup, ...] = ()


class ParcelsWorld(FunctionWorld[ParcelsState]):
    """Ten functions of a parcel service."""

    name = "Parcels"
    state = ParcelsState
    lasting = frozenset(("pay_parcel", "cancel_parcel"))

    def find_address(self, state: ParcelsState, name: str) -> After[ParcelsState]:
        """Find an address by name."""
        return state, named(state.addresses, name, f"No address is saved for {name!r}.")._asdict()

    def save_address(self, state: ParcelsState, name: str, street: str, city: str) -> After[ParcelsState]:
        """Save an address."""
        if any(one.name == name for one in state.addresses):
            raise Refused(f"An address is saved for {name!r} already.")
        new = PostalAddress(f"AD-{state.next_number}", name, street, city)
        after = state._replace(next_number=state.next_number + 1, addresses=(*state.addresses, new))
        return after, {"address_id": new.address_id}

    def quote_parcel(
        self, state: ParcelsState, address_id: str, weight_kg: float, service: Service = "standard"
    ) -> After[ParcelsState]:
        """Tell a price."""
        known(state.addresses, address_id, "address")
        return state, {"price": _price(weight_kg, service)}

    def create_parcel(
        self, state: ParcelsState, address_id: str, weight_kg: float, service: Service = "standard"
    ) -> After[ParcelsState]:
        """Make a parcel."""
        known(state.addresses, address_id, "address")
        price = _price(weight_kg, service)
        new = Parcel(f"PC-{state.next_number}", address_id, float(weight_kg), service, price)
        after = state._replace(next_number=state.next_number + 1, parcels=(*state.parcels, new))
        return after, {"parcel_id": new.parcel_id, "price": price}

    def insure_parcel(self, state: ParcelsState, parcel_id: str, value: float) -> After[ParcelsState]:
        """Insure a parcel."""
        parcel = _parcel(state, parcel_id, "unpaid")
        if value <= 0 or parcel.value:
            raise Refused(
                f"{parcel_id} is insured already." if parcel.value else f"value must be above 0, got {value}."
            )
        premium = round(value * 0.015, 2)
        new = parcel._replace(value=float(value), price=round(parcel.price + premium, 2))
        after = state._replace(parcels=replaced(state.parcels, new))
        return after, {"parcel_id": parcel_id, "premium": premium, "price": new.price}

    def list_cards(self, state: ParcelsState) -> After[ParcelsState]:
        """List the cards."""
        return state, {"cards": [card._asdict() for card in state.cards]}

    def pay_parcel(self, state: ParcelsState, parcel_id: str, card_id: str) -> After[ParcelsState]:
        """Pay for a parcel."""
        parcel, card = _parcel(state, parcel_id, "unpaid"), known(state.cards, card_id, "card")
        if card.balance < parcel.price:
            raise Refused(f"{parcel_id} costs {parcel.price:.2f}, but {card_id} has {card.balance:.2f}.")
        left = card._replace(balance=round(card.balance - parcel.price, 2))
        after = state._replace(
            parcels=replaced(state.parcels, parcel._replace(status="paid", card_id=card_id)),
            cards=replaced(state.cards, left),
        )
        return after, {"paid": parcel.price, "balance": left.balance}

    def book_pickup(self, state: ParcelsState, parcel_id: str, day: str, slot: Slot = "morning") -> After[ParcelsState]:
        """Book a pickup."""
        parcel = _parcel(state, parcel_id, "paid")
        if day_of(day) < date.fromisoformat(state.today):
            raise Refused(f"day must not be before {state.today}, got {day}.")
        new = ParcelPickup(f"PU-{state.next_number}", parcel_id, day, slot)
        after = state._replace(
            next_number=state.next_number + 1,
            parcels=replaced(state.parcels, parcel._replace(status="booked")),
            pickups=(*state.pickups, new),
        )
        return after, {"pickup_id": new.pickup_id}

    def track_parcel(self, state: ParcelsState, parcel_id: str) -> After[ParcelsState]:
        """Track a parcel."""
        parcel = known(state.parcels, parcel_id, "parcel")
        return state, {key: getattr(parcel, key) for key in ("parcel_id", "address_id", "service", "status", "price")}

    def cancel_parcel(self, state: ParcelsState, parcel_id: str) -> After[ParcelsState]:
        """Cancel a parcel."""
        parcel = known(state.parcels, parcel_id, "parcel")
        refund = 0.0 if parcel.status == "unpaid" else parcel.price
        cards = tuple(
            card._replace(balance=round(card.balance + refund, 2)) if card.card_id == parcel.card_id else card
            for card in state.cards
        )
        after = state._replace(
            parcels=without(state.parcels, parcel_id),
            pickups=tuple(one for one in state.pickups if one.parcel_id != parcel_id),
            cards=cards,
        )
        return after, {"parcel_id": parcel_id, "refund": refund}


def _price(weight_kg: float, service: str) -> float:
    if not 0 < weight_kg <= 30:
        raise Refused(f"weight_kg must be more than 0 and at most 30, got {weight_kg}.")
    rates: Mapping[str, tuple[float, float]] = {
        "standard": (4.5, 1.2),
        "express": (9.0, 2.0),
        "overnight": (15.0, 3.0),
    }
    base, per_kg = rates[service]
    return round(base + per_kg * weight_kg, 2)


def _parcel(state: ParcelsState, parcel_id: str, status: str) -> Parcel:
    parcel = known(state.parcels, parcel_id, "parcel")
    if parcel.status != status:
        raise Refused(f"{parcel_id} must be {status} for this, but is {parcel.status}.")
    return parcel


@cache
def more_addresses() -> tuple[PostalAddress, ...]:
    """Return the addresses of a long context."""
    return tuple(
        PostalAddress(f"AD-{9000 + number}", f"Depot {number}", f"Gate {number % 20 + 1}", "Freight Yard")
        for number in range(240)
    )


@cache
def more_parcels() -> tuple[Parcel, ...]:
    """Return the parcels of a long context."""
    return tuple(
        Parcel(f"PC-{9000 + number}", f"AD-{9000 + number}", 5.0, "standard", 10.5, status="booked")
        for number in range(240)
    )


ParcelsWorld.more = {"addresses": more_addresses, "parcels": more_parcels}
