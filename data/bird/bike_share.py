"""The rows of `bike_share`."""

from drawing import Draw
from rows_common import PEOPLE, Row, Rows, day, later, moment, skewed, typed
from schema import Schema

N_STATIONS, N_BIKES, N_MEMBERS, N_TRIPS, N_SERVICES = 36, 360, 850, 11_500, 1_300
LAST_DAY = "2024-12-31"
KIND_SHARES = {"S": 0.58, "E": 0.32, "C": 0.10}
PLAN_SHARES = {"MON": 0.4, "ANN": 0.3, "STU": 0.2, "DAY": 0.1}
RATE = {"S": 0.05, "E": 0.09, "C": 0.12}
"""Crowns a minute."""


def make_rows(schema: Schema, seed: int) -> Rows:
    """All rows, by table."""
    draw = Draw(seed, "bike_share")
    stations, bikes = _stations(schema, draw), _bikes(schema, draw)
    members = _members(schema, draw)
    return {
        "station": stations,
        "bike": bikes,
        "member": members,
        "trip": _trips(draw, bikes, members),
        "service": _services(schema, draw, bikes),
    }


def _stations(schema: Schema, draw: Draw) -> list[Row]:
    words = schema.words
    names = draw.some([f"{a} {b}" for a in words["station_first"] for b in words["station_second"]], N_STATIONS)
    return [
        (
            number,
            name,
            words["districts"][skewed(draw, len(words["districts"]))],
            draw.integer((8, 42)),
            day(draw, "2016-03-01", "2021-11-30"),
            round(draw.between(1.0, 96.0), 1),
            int(draw.chance(0.4)),
        )
        for number, name in enumerate(names, 1)
    ]


def _bikes(schema: Schema, draw: Draw) -> list[Row]:
    rows: list[Row] = []
    for number in range(1001, 1001 + N_BIKES):
        kind = draw.weighted(KIND_SHARES)
        model = {"S": ("Heron 2", "Wren"), "E": ("Heron 3", "Kestrel"), "C": ("Packhorse",)}[kind]
        price = {"S": 620.0, "E": 1480.0, "C": 2350.0}[kind] * draw.between(0.85, 1.2)
        status = draw.weighted({"A": 0.78, "R": 0.12, "X": 0.1})
        rows.append((number, draw.one(model), kind, day(draw, "2016-02-01", "2021-12-31"), round(price, 2), status))
    return rows


def _members(schema: Schema, draw: Draw) -> list[Row]:
    rows: list[Row] = []
    for number in range(1, N_MEMBERS + 1):
        joined = day(draw, "2016-06-01", "2023-09-30")
        left = min(later(joined, draw.integer((30, 1500))), LAST_DAY) if draw.chance(0.3) else None
        rows.append(
            (
                number,
                draw.one(PEOPLE["first"]),
                draw.one(PEOPLE["last"]),
                None if draw.chance(0.12) else draw.integer((1948, 2006)),
                draw.weighted(PLAN_SHARES),
                joined,
                left,
                typed(draw, schema.words["towns"][skewed(draw, 5)]),
                None if draw.chance(0.08) else 1 + skewed(draw, N_STATIONS),
            )
        )
    return rows


def _trips(draw: Draw, bikes: list[Row], members: list[Row]) -> list[Row]:
    started = sorted(moment(draw, day(draw, "2022-01-01", LAST_DAY), (6, 22)) for _ in range(N_TRIPS))
    rows: list[Row] = []
    for number, at in enumerate(started, 1):
        bike = bikes[skewed(draw, len(bikes))]
        member = None if draw.chance(0.12) else _member_on(draw, members, at[:10])
        seconds = 120 + int(4200 * draw.between(0.0, 1.0) ** 2) + (900 if bike[2] == "C" else 0)
        discount = 1.0 if member is None else 0.6
        fare = round(0.5 + seconds / 60 * RATE[str(bike[2])] * discount, 2)
        end = None if draw.chance(0.012) else 1 + skewed(draw, N_STATIONS)
        rows.append((number, bike[0], member, 1 + skewed(draw, N_STATIONS), end, at, seconds, fare))
    return rows


def _member_on(draw: Draw, members: list[Row], on: str) -> object:
    """Someone who was a member on that day; None, a casual rider, if who is drawn was not."""
    number, *_, joined, left, _, _ = members[skewed(draw, len(members))]
    return number if str(joined) <= on and (left is None or on <= str(left)) else None


def _services(schema: Schema, draw: Draw, bikes: list[Row]) -> list[Row]:
    done = sorted(day(draw, "2022-01-03", LAST_DAY) for _ in range(N_SERVICES))
    rows: list[Row] = []
    for number, on in enumerate(done, 1):
        bike = bikes[skewed(draw, len(bikes))]
        works = [work for work in schema.words["work"] if work != "battery" or bike[2] == "E"]
        work = draw.one(works)
        cost = draw.between(8.0, 60.0) * (6.0 if work == "battery" else 1.0)
        rows.append(
            (
                number,
                bike[0],
                on,
                work,
                None if draw.chance(0.15) else round(cost, 2),
                schema.words["mechanics"][skewed(draw, 6)],
            )
        )
    return rows
