"""The rows of `ferry_line`."""

from drawing import Draw
from rows_common import Row, Rows, day, moment, skewed, typed
from schema import Schema

N_SAILINGS, N_TICKETS = 1_750, 4_100
SEASON_DAYS = {"Y": ("01-01", "12-28"), "S": ("05-01", "09-30"), "W": ("01-01", "03-31")}
CLASS_SHARES = {"AD": 0.55, "IS": 0.3, "CH": 0.15}
CLASS_FACTOR = {"AD": 1.0, "IS": 0.5, "CH": 0.4}
VEHICLE_SHARES = {"": 0.52, "car": 0.27, "bicycle": 0.09, "van": 0.07, "motorhome": 0.05}
VEHICLE_PRICE = {"": 0.0, "car": 14.0, "bicycle": 1.5, "van": 24.0, "motorhome": 31.0}


def make_rows(schema: Schema, seed: int) -> Rows:
    """All rows, by table."""
    draw = Draw(seed, "ferry_line")
    vessels, routes = _vessels(schema, draw), _routes(schema, draw)
    sailings = _sailings(draw, vessels, routes)
    return {
        "harbour": _harbours(schema, draw),
        "vessel": vessels,
        "route": routes,
        "sailing": sailings,
        "ticket": _tickets(schema, draw, routes, sailings),
    }


def _harbours(schema: Schema, draw: Draw) -> list[Row]:
    rows: list[Row] = []
    for number, (name, island) in enumerate(zip(schema.words["harbours"], schema.words["islands"], strict=True), 1):
        limit = round(draw.between(0.6, 2.4), 1) if draw.chance(0.4) else None
        rows.append((number, name, island, draw.integer((1, 6)), int(draw.chance(0.45)), limit))
    return rows


def _vessels(schema: Schema, draw: Draw) -> list[Row]:
    words = schema.words
    given = zip(words["vessels"], words["hulls"], words["withdrawn"], strict=True)
    years = draw.some(range(1974, 2020), len(words["vessels"]))
    return [
        (number, name, hull, years[number - 1], draw.integer((40, 320)), withdrawn or None)
        for number, (name, hull, withdrawn) in enumerate(given, 1)
    ]


def _routes(schema: Schema, draw: Draw) -> list[Row]:
    given = zip(schema.words["pairs"], schema.words["seasons"], strict=True)
    return [
        (100 + number, start, end, round(draw.between(2.5, 31.0), 1), season)
        for number, ((start, end), season) in enumerate(given, 1)
    ]


def _sailings(draw: Draw, vessels: list[Row], routes: list[Row]) -> list[Row]:
    planned = sorted(_planned(draw, vessels, routes) for _ in range(N_SAILINGS))
    rows: list[Row] = []
    for number, (at, route, vessel) in enumerate(planned, 1):
        wave = round(0.2 + 5.2 * draw.between(0.0, 1.0) ** 2, 1)
        off = draw.chance(0.6 if wave > 3.8 else 0.02)
        delay = 0 if draw.chance(0.3) else int(75 * draw.between(0.0, 1.0) ** 2) + 1
        rows.append((number, route, vessel, at, None if off else delay, wave))
    return rows


def _planned(draw: Draw, vessels: list[Row], routes: list[Row]) -> tuple[str, object, object]:
    """A departure: when, on which route, with which of the ships in service; landing craft stay at home in winter."""
    route = routes[skewed(draw, len(routes))]
    first, last = SEASON_DAYS[str(route[4])]
    year = draw.integer((2022, 2024))
    at = moment(draw, day(draw, f"{year}-{first}", f"{year}-{last}"), (6, 20))
    in_service = [vessel for vessel in vessels if vessel[5] is None or at[:10] <= str(vessel[5])]
    fit = [vessel for vessel in in_service if (vessel[2], route[4]) != ("L", "W")]
    return f"{at[:-2]}00", route[0], fit[skewed(draw, len(fit))][0]


def _tickets(schema: Schema, draw: Draw, routes: list[Row], sailings: list[Row]) -> list[Row]:
    miles = {route[0]: float(str(route[3])) for route in routes}
    rows: list[Row] = []
    for number in range(1, N_TICKETS + 1):
        sailing = sailings[skewed(draw, len(sailings))]
        who, vehicle = draw.weighted(CLASS_SHARES), draw.weighted(VEHICLE_SHARES)
        paid = CLASS_FACTOR[who] * (4.0 + 0.45 * miles[sailing[1]]) + VEHICLE_PRICE[vehicle] * draw.between(0.9, 1.3)
        back = int(draw.chance(0.9 if sailing[4] is None else 0.03))
        where = typed(draw, schema.words["sold_at"][skewed(draw, 4)])
        rows.append((number, sailing[0], who, vehicle or None, round(paid, 2), where, back))
    return rows
