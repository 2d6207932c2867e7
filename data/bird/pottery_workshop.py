"""The rows of `pottery_workshop`."""

from datetime import datetime, timedelta

from drawing import Draw
from rows_common import Row, Rows, day, later, moment, people, skewed, typed
from schema import Schema

N_POTTERS, N_FIRINGS, N_POTS, N_SALES = 64, 420, 3_500, 1_500
VOLUMES = (340, 45, 1_100, 520, 480)
HOTTEST = (1260, 1300, 1340, 1290, 1280)
FAIR_OF_MONTH = (3, 4, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3)


def make_rows(schema: Schema, seed: int) -> Rows:
    """All rows, by table."""
    draw = Draw(seed, "pottery_workshop")
    potters, glazes, firings = _potters(draw), _glazes(schema, draw), _firings(draw)
    pots = _pots(schema, draw)
    return {
        "potter": potters,
        "glaze": glazes,
        "kiln": _kilns(schema),
        "firing": firings,
        "pot": pots,
        "fair_sale": _sales(schema, draw, firings, pots),
    }


def _potters(draw: Draw) -> list[Row]:
    rows: list[Row] = []
    for number, name in enumerate(people(draw, N_POTTERS, of="validation"), 1):
        level = draw.weighted({"B": 0.45, "J": 0.38, "M": 0.17})
        fee = {"B": 38.0, "J": 32.0, "M": 20.0}[level] + draw.integer((0, 8))
        shelf = None if draw.chance(0.2) else draw.integer((1, 40))
        rows.append((number, name, level, day(draw, "2008-01-10", "2019-12-31"), shelf, fee))
    return rows


def _glazes(schema: Schema, draw: Draw) -> list[Row]:
    rows: list[Row] = []
    for number, name in enumerate(schema.words["glaze_names"], 1):
        safe = draw.weighted({"1": 0.5, "0": 0.3, "": 0.2})
        price = round(draw.between(6.0, 41.0), 2)
        rows.append((number, name, schema.words["finishes"][skewed(draw, 3)], int(safe) if safe else None, price))
    return rows


def _kilns(schema: Schema) -> list[Row]:
    given = zip(schema.words["kilns"], schema.words["heats"], VOLUMES, HOTTEST, strict=True)
    return [(number, name, heat, litres, hottest) for number, (name, heat, litres, hottest) in enumerate(given, 1)]


def _firings(draw: Draw) -> list[Row]:
    lit = sorted(moment(draw, day(draw, "2020-01-08", "2024-11-20"), (6, 18)) for _ in range(N_FIRINGS))
    rows: list[Row] = []
    for number, at in enumerate(lit, 1):
        kiln = 1 + skewed(draw, 5)
        hours = draw.integer((14, 30)) + (40 if kiln == 3 else 0)
        opened = datetime.fromisoformat(at) + timedelta(minutes=60 * hours + draw.integer((0, 59)))
        peak = None if draw.chance(0.06) else HOTTEST[kiln - 1] - draw.integer((-8, 260))
        cost = VOLUMES[kiln - 1] ** 0.5 * draw.between(1.1, 2.3)
        rows.append((number, kiln, at, str(opened), peak, round(cost, 2)))
    return rows


def _pots(schema: Schema, draw: Draw) -> list[Row]:
    rows: list[Row] = []
    for number in range(1, N_POTS + 1):
        shape = schema.words["shapes"][skewed(draw, 7)]
        grams = draw.integer((180, 900)) * (3 if shape in ("planter", "vase") else 1)
        glaze = None if draw.chance(0.12) else 1 + skewed(draw, 12)
        clay = typed(draw, schema.words["clays"][skewed(draw, 3)])
        fate = draw.weighted({"OK": 0.88, "CR": 0.09, "EX": 0.03})
        firing = 1 + draw.integer((0, N_FIRINGS - 1))
        rows.append((number, 1 + skewed(draw, N_POTTERS), firing, glaze, shape, clay, grams, fate))
    return rows


def _sales(schema: Schema, draw: Draw, firings: list[Row], pots: list[Row]) -> list[Row]:
    whole = [pot for pot in pots if pot[7] == "OK"]
    rows: list[Row] = []
    for number, pot in enumerate(draw.some(whole, N_SALES), 1):
        opened = str(firings[int(str(pot[2])) - 1][3])[:10]
        asked = 6.0 + 0.02 * int(str(pot[6])) + draw.integer((0, 24))
        got = asked if draw.chance(0.6) else asked * draw.between(0.6, 0.95)
        sold = later(opened, draw.integer((3, 240)))
        fair = schema.words["fairs"][4 if draw.chance(0.1) else FAIR_OF_MONTH[int(sold[5:7]) - 1]]
        rows.append((number, pot[0], fair, sold, round(asked, 2), round(got, 2)))
    return rows
