"""The rows of `vineyard_coop`."""

from drawing import Draw
from rows_common import Row, Rows, day, later, moment, people, skewed, typed
from schema import Schema

N_GROWERS, N_PARCELS, N_DELIVERIES, N_WINES, N_PURCHASES = 74, 190, 2_600, 46, 2_100
LAST_DAY = "2024-12-15"


def make_rows(schema: Schema, seed: int) -> Rows:
    """All rows, by table."""
    draw = Draw(seed, "vineyard_coop")
    growers, parcels, wines = _growers(schema, draw), _parcels(schema, draw), _wines(schema, draw)
    return {
        "grower": growers,
        "parcel": parcels,
        "delivery": _deliveries(draw, growers, parcels),
        "wine": wines,
        "purchase": _purchases(schema, draw, wines),
    }


def _growers(schema: Schema, draw: Draw) -> list[Row]:
    rows: list[Row] = []
    for number, name in enumerate(people(draw, N_GROWERS, of="validation"), 1):
        entered = draw.integer((1961, 2019))
        left = draw.integer((2019, 2024)) if draw.chance(0.16) else None
        village = typed(draw, schema.words["villages"][skewed(draw, 5)])
        rows.append((number, name, village, entered, left, draw.integer((1, 40))))
    return rows


def _parcels(schema: Schema, draw: Draw) -> list[Row]:
    words = schema.words
    return [
        (
            number,
            1 + skewed(draw, N_GROWERS),
            words["slopes"][skewed(draw, 8)],
            words["grapes"][skewed(draw, 5)],
            round(draw.between(4.0, 95.0), 1),
            None if draw.chance(0.15) else draw.integer((1954, 2018)),
            draw.weighted({"K": 0.6, "B": 0.28, "U": 0.12}),
        )
        for number in range(301, 301 + N_PARCELS)
    ]


def _deliveries(draw: Draw, growers: list[Row], parcels: list[Row]) -> list[Row]:
    quits = {grower[0]: int(str(grower[4] or 9999)) for grower in growers}
    planned = []
    for _ in range(N_DELIVERIES):
        year = draw.integer((2019, 2024))
        planned.append(moment(draw, day(draw, f"{year}-09-05", f"{year}-10-28"), (8, 19)))
    rows: list[Row] = []
    for number, at in enumerate(sorted(planned), 1):
        worked = [parcel for parcel in parcels if int(at[:4]) < quits[parcel[1]]]
        parcel = worked[skewed(draw, len(worked))]
        sugar = None if draw.chance(0.05) else round(draw.between(62.0, 96.0) + (4.0 if parcel[6] == "B" else 0.0), 1)
        price = 0.7 + 0.006 * (sugar or 70.0) + (0.35 if parcel[6] == "B" else 0.0)
        picked = draw.weighted({"H": 0.7, "M": 0.3} if parcel[6] == "B" else {"H": 0.3, "M": 0.7})
        rows.append((number, parcel[0], at, draw.integer((80, 2_400)), sugar, picked, round(price, 2)))
    return rows


def _wines(schema: Schema, draw: Draw) -> list[Row]:
    pairs = draw.some([(label, year) for label in schema.words["labels"] for year in range(2018, 2024)], N_WINES)
    rows: list[Row] = []
    for number, (label, year) in enumerate(sorted(pairs), 1):
        colour = draw.weighted({"W": 0.5, "R": 0.36, "P": 0.14})
        bottled = draw.integer((300, 1_900)) * 12
        vintage = None if label == "Hausmarke" else year
        rows.append((number, label, vintage, colour, bottled, round(draw.between(10.5, 14.5), 1)))
    return rows


def _purchases(schema: Schema, draw: Draw, wines: list[Row]) -> list[Row]:
    days = sorted(day(draw, "2021-01-04", LAST_DAY) for _ in range(N_PURCHASES))
    left = {wine[0]: int(str(wine[4])) for wine in wines}
    rows: list[Row] = []
    for number, on in enumerate(days, 1):
        on_sale = [wine for wine in wines if left[wine[0]] >= 300 and int(str(wine[2] or 0)) < int(on[:4])]
        wine = on_sale[skewed(draw, len(on_sale))]
        bottles = 6 * draw.integer((1, 50))
        left[wine[0]] -= bottles
        shipped = later(on, draw.integer((1, 21)))
        waits = shipped > LAST_DAY or draw.chance(0.01)
        client = schema.words["clients"][skewed(draw, 6)]
        price = round(4.5 + 0.3 * (sum(map(ord, str(wine[1]))) % 20) + draw.between(0.0, 1.5), 2)
        rows.append((number, wine[0], client, on, None if waits else shipped, bottles, price))
    return rows
