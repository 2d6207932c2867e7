"""The rows of `playhouse`."""

from drawing import Draw
from rows_common import Row, Rows, day, later, moment, people, skewed, typed
from schema import Schema

N_STAGINGS, N_EVENINGS, N_PLAYERS, N_SALES = 42, 900, 58, 4_500
TODAY = "2024-12-01"
AREA_PRICE = {"stalls": 18.0, "circle": 14.0, "gallery": 7.5, "box": 31.0}


def make_rows(schema: Schema, seed: int) -> Rows:
    """All rows, by table."""
    draw = Draw(seed, "playhouse")
    stagings = _stagings(schema, draw)
    evenings = _evenings(draw, stagings)
    return {
        "play": _plays(schema, draw),
        "staging": stagings,
        "evening": evenings,
        "player": _players(schema, draw),
        "part": _parts(schema, draw, stagings),
        "seat_sale": _sales(schema, draw, evenings),
    }


def _plays(schema: Schema, draw: Draw) -> list[Row]:
    words = schema.words
    lengths = draw.some(range(70, 190), len(words["titles"]))
    return [
        (
            number,
            title,
            words["playwrights"][skewed(draw, 6)],
            words["genres"][skewed(draw, 4)],
            None if draw.chance(0.2) else draw.integer((1780, 2019)),
            lengths[number - 1],
        )
        for number, title in enumerate(words["titles"], 1)
    ]


def _stagings(schema: Schema, draw: Draw) -> list[Row]:
    starts = sorted(draw.some([later("2017-09-01", n * 9) for n in range(290)], N_STAGINGS))
    rows: list[Row] = []
    for number, start in enumerate(starts, 1):
        end = later(start, draw.integer((20, 260)))
        hall = draw.weighted({"M": 0.5, "S": 0.35, "Y": 0.15})
        cost = round(draw.between(2_000.0, 26_000.0) * (1.4 if hall == "M" else 0.7), 2)
        director = schema.words["directors"][skewed(draw, 5)]
        rows.append((number, 1 + skewed(draw, 17), director, hall, start, end if end < TODAY else None, cost))
    return rows


def _evenings(draw: Draw, stagings: list[Row]) -> list[Row]:
    planned = []
    for _ in range(N_EVENINGS):
        staging = draw.one(stagings)
        planned.append((moment(draw, day(draw, str(staging[4]), str(staging[5] or TODAY)), (17, 20)), staging[0]))
    rows: list[Row] = []
    for number, (at, staging_id) in enumerate(sorted(planned), 1):
        outcome = draw.weighted({"P": 0.93, "N": 0.05, "B": 0.02})
        interval = None if draw.chance(0.25) else draw.one((15, 20, 20, 25))
        rows.append((number, staging_id, f"{at[:14]}{draw.one(('00', '15', '30'))}:00", interval, outcome))
    return rows


def _players(schema: Schema, draw: Draw) -> list[Row]:
    rows: list[Row] = []
    wages = draw.some(range(70, 420), N_PLAYERS)
    for number, name in enumerate(people(draw, N_PLAYERS, of="train"), 1):
        kind = draw.weighted({"EN": 0.5, "GU": 0.32, "TR": 0.18})
        agency = None if kind == "TR" or draw.chance(0.3) else schema.words["agencies"][skewed(draw, 3)]
        wage = wages[number - 1] * (0.4 if kind == "TR" else 1.0) + 0.5
        voice = typed(draw, schema.words["voices"][skewed(draw, 5)])
        rows.append((number, name, voice, day(draw, "2003-01-01", "2024-06-30"), kind, agency, round(wage, 2)))
    return rows


def _parts(schema: Schema, draw: Draw, stagings: list[Row]) -> list[Row]:
    rows: list[Row] = []
    for staging in stagings:
        names = draw.some(schema.words["parts"], draw.integer((4, 9)))
        numbers = sorted({1 + skewed(draw, N_PLAYERS) for _ in names})
        rows += [
            (staging[0], number, name, int(place < 2))
            for place, (number, name) in enumerate(zip(draw.some(numbers, len(numbers)), names, strict=False))
        ]
    return rows


def _sales(schema: Schema, draw: Draw, evenings: list[Row]) -> list[Row]:
    rows: list[Row] = []
    for number in range(1, N_SALES + 1):
        evening = evenings[skewed(draw, N_EVENINGS)]
        area = draw.weighted({"stalls": 0.5, "circle": 0.25, "gallery": 0.2, "box": 0.05})
        channel = draw.weighted({"website": 0.55, "box office": 0.25, "telephone": 0.14, "school booking": 0.06})
        seats = draw.integer((12, 40)) if channel == "school booking" else draw.integer((1, 6))
        factor = 0.0 if draw.chance(0.03) else 0.5 if channel == "school booking" else 1.0
        subscriber = draw.integer((100, 460)) if channel != "school booking" and draw.chance(0.3) else None
        takings = round(seats * AREA_PRICE[area] * factor * (0.8 if subscriber else 1.0), 2)
        rows.append((number, evening[0], area, seats, takings, channel, subscriber))
    return rows
