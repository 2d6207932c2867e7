"""An app for trips by coach and boat: what goes when, and what is booked."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from iad_envs.toolcalls.worlds.functions import After, Refused, known, replaced
from iad_envs.toolcalls.worlds.phone import (
    PhoneFunctions,
    PhoneSettings,
    as_rows,
    require_wifi,
    shown_settings,
)

Place = Literal["saloon", "deck", "cabin"]


class TripsAccount(NamedTuple):
    """Who has an account."""

    user_name: str
    password: str


class OfferedTrip(NamedTuple):
    """A coach or boat from a town to another; the day is YYYY-MM-DD, the hour HH:MM."""

    trip_id: str
    origin: str
    destination: str
    day: str
    hour: str
    price: float
    free_seats: int


class SeatBooking(NamedTuple):
    """Seats on a trip; they are `booked` or `cancelled`."""

    booking_id: str
    user_name: str
    trip_id: str
    seats: int
    place: str
    price: float
    status: str = "booked"


class TripsState(NamedTuple):
    """What the app knows. Nobody is signed in where the user name is empty."""

    phone: PhoneSettings = PhoneSettings()
    signed_in: str = ""
    next_number: int = 1
    accounts: tuple[TripsAccount, ...] = ()
    trips: tuple[OfferedTrip, ...] = ()
    bookings: tuple[SeatBooking, ...] = ()


class TripsWorld(PhoneFunctions[TripsState]):
    """Six functions of the app, besides those of the phone."""

    name = "Trips"
    state = TripsState
    lasting = frozenset(("book_seats", "cancel_seats"))

    def public(self, state: TripsState) -> Mapping[str, Any]:
        """Return what a checker compares."""
        return {**shown_settings(state), "signed_in": state.signed_in, "bookings": as_rows(state.bookings)}

    def sign_in_trips(self, state: TripsState, user_name: str, password: str) -> After[TripsState]:
        """Sign in."""
        require_wifi(state)
        if known(state.accounts, user_name, "account").password != password:
            raise Refused("The password is wrong.")
        return state._replace(signed_in=user_name), {"user_name": user_name}

    def find_trips(self, state: TripsState, origin: str, destination: str, day: str) -> After[TripsState]:
        """Find trips."""
        require_wifi(state)
        rows = [one for one in state.trips if (one.origin, one.destination, one.day) == (origin, destination, day)]
        if not rows:
            raise Refused(f"There is no trip from {origin!r} to {destination!r} on {day!r}.")
        keys = ("trip_id", "hour", "price", "free_seats")
        return state, {"trips": [{key: getattr(one, key) for key in keys} for one in rows]}

    def book_seats(self, state: TripsState, trip_id: str, seats: int = 1, place: Place = "saloon") -> After[TripsState]:
        """Book seats."""
        user, trip = _user(state), known(state.trips, trip_id, "trip")
        if not 1 <= seats <= trip.free_seats:
            raise Refused(f"seats must be from 1 to {trip.free_seats} on {trip_id}, got {seats}.")
        new = SeatBooking(f"BO-{state.next_number}", user, trip_id, seats, place, _price(trip, seats, place))
        after = state._replace(
            next_number=state.next_number + 1,
            trips=replaced(state.trips, trip._replace(free_seats=trip.free_seats - seats)),
            bookings=(*state.bookings, new),
        )
        return after, {"booking_id": new.booking_id, "price": new.price}

    def change_trip(self, state: TripsState, booking_id: str, trip_id: str) -> After[TripsState]:
        """Move a booking."""
        booking, trip = _booking(state, booking_id), known(state.trips, trip_id, "trip")
        if trip_id == booking.trip_id or trip.free_seats < booking.seats:
            raise Refused(f"trip_id must be another trip with {booking.seats} free seats, got {trip_id!r}.")
        new = booking._replace(trip_id=trip_id, price=_price(trip, booking.seats, booking.place))
        trips = replaced(_given_back(state, booking), trip._replace(free_seats=trip.free_seats - booking.seats))
        after = state._replace(trips=trips, bookings=replaced(state.bookings, new))
        return after, {"booking_id": booking_id, "price": new.price}

    def cancel_seats(self, state: TripsState, booking_id: str) -> After[TripsState]:
        """Cancel a booking."""
        booking = _booking(state, booking_id)
        after = state._replace(
            trips=_given_back(state, booking),
            bookings=replaced(state.bookings, booking._replace(status="cancelled")),
        )
        return after, {"booking_id": booking_id, "status": "cancelled"}

    def list_bookings(self, state: TripsState) -> After[TripsState]:
        """List the bookings."""
        user = _user(state)
        rows = []
        for one in state.bookings:
            trip = known(state.trips, one.trip_id, "trip")
            if one.user_name == user:
                shown = {"origin": trip.origin, "destination": trip.destination, "day": trip.day}
                rows.append({"booking_id": one.booking_id, **shown, "seats": one.seats, "status": one.status})
        return state, {"bookings": rows}


def _user(state: TripsState) -> str:
    """Return who is signed in."""
    require_wifi(state)
    if not state.signed_in:
        raise Refused("Nobody is signed in for trips. Sign in first.")
    return state.signed_in


def _booking(state: TripsState, booking_id: str) -> SeatBooking:
    """Return a booking of who is signed in."""
    user, booking = _user(state), known(state.bookings, booking_id, "booking")
    if booking.user_name != user or booking.status != "booked":
        raise Refused(f"{booking_id} is no open booking of {user}.")
    return booking


def _given_back(state: TripsState, booking: SeatBooking) -> tuple[OfferedTrip, ...]:
    """Return the trips with the seats of a booking free again."""
    trip = known(state.trips, booking.trip_id, "trip")
    return replaced(state.trips, trip._replace(free_seats=trip.free_seats + booking.seats))


def _price(trip: OfferedTrip, seats: int, place: str) -> float:
    rates = {"saloon": 1.0, "deck": 0.8, "cabin": 1.5}
    return round(seats * trip.price * rates[place], 2)
