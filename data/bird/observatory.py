"""The rows of `observatory`."""

from drawing import Draw
from rows_common import Row, Rows, day, moment, people, skewed, typed
from schema import Schema

N_CAMERAS, N_OBSERVERS, N_PROPOSALS, N_TARGETS, N_EXPOSURES = 15, 70, 260, 240, 4_100
MIRRORS = (210, 64, 120, 122, 90, 351)
FIRST_LIGHTS = ("1988-09-14", "1956-04-02", "1999-10-21", "2001-03-08", "1974-06-30", "2016-11-17")
MOTHBALLED = (None, "2022-08-31", None, None, None, None)


def make_rows(schema: Schema, seed: int) -> Rows:
    """All rows, by table."""
    draw = Draw(seed, "observatory")
    cameras, proposals = _cameras(schema, draw), _proposals(schema, draw)
    return {
        "telescope": _telescopes(schema),
        "camera": cameras,
        "observer": _observers(schema, draw),
        "proposal": proposals,
        "target": _targets(schema, draw),
        "exposure": _exposures(schema, draw, cameras, proposals),
    }


def _telescopes(schema: Schema) -> list[Row]:
    return [
        (
            number,
            name,
            MIRRORS[number - 1],
            "AA" if number > 2 else "EQ",
            FIRST_LIGHTS[number - 1],
            MOTHBALLED[number - 1],
        )
        for number, name in enumerate(schema.words["telescopes"], 1)
    ]


def _cameras(schema: Schema, draw: Draw) -> list[Row]:
    rows: list[Row] = []
    for number in range(1, N_CAMERAS + 1):
        cost = None if draw.chance(0.2) else round(draw.between(4_000.0, 95_000.0), 2)
        make, band = schema.words["camera_makes"][skewed(draw, 4)], draw.one(schema.words["bands"])
        cooled = int(band == "infrared" or draw.chance(0.3))
        rows.append((number, 1 + (number - 1) % 6, make, band, round(draw.between(1.0, 64.0), 1), cooled, cost))
    return rows


def _observers(schema: Schema, draw: Draw) -> list[Row]:
    return [
        (
            number,
            name,
            typed(draw, schema.words["institutes"][skewed(draw, 5)]),
            draw.weighted({"PR": 0.25, "PD": 0.4, "ST": 0.35}),
            None if draw.chance(0.25) else day(draw, "2005-01-01", "2023-12-31"),
        )
        for number, name in enumerate(people(draw, N_OBSERVERS, of="train"), 1)
    ]


def _proposals(schema: Schema, draw: Draw) -> list[Row]:
    days = sorted(day(draw, "2019-01-07", "2023-12-20") for _ in range(N_PROPOSALS))
    rows: list[Row] = []
    for number, on in enumerate(days, 1):
        grade, asked = round(draw.between(1.0, 5.0), 1), draw.integer((4, 60))
        given = None if grade > 3.2 else max(2, int(asked * draw.between(0.4, 1.1)))
        given = None if given is None else min(given, asked)
        topic = schema.words["topics"][skewed(draw, 8)]
        rows.append((number, 1 + skewed(draw, N_OBSERVERS), topic, on, asked, given, grade))
    return rows


def _targets(schema: Schema, draw: Draw) -> list[Row]:
    rows: list[Row] = []
    magnitudes = draw.some([round(4 + n * 0.05, 2) for n in range(320)], N_TARGETS)
    for number, serial in enumerate(draw.some(range(1000, 9999), N_TARGETS), 1):
        kind = schema.words["object_kinds"][skewed(draw, 5)]
        region = None if kind in ("AS", "CM") else schema.words["regions"][skewed(draw, 8)]
        magnitude = None if draw.chance(0.1) else magnitudes[number - 1]
        rows.append((number, f"{draw.one(schema.words['catalogues'])} {serial}", kind, region, magnitude))
    return rows


def _exposures(schema: Schema, draw: Draw, cameras: list[Row], proposals: list[Row]) -> list[Row]:
    granted = [proposal for proposal in proposals if proposal[5] is not None]
    planned = []
    for _ in range(N_EXPOSURES):
        proposal = None if draw.chance(0.1) else granted[skewed(draw, len(granted))]
        at = moment(draw, day(draw, str(proposal[3]) if proposal else "2019-03-01", "2024-10-31"), (0, 6))
        planned.append((at, 0 if proposal is None else int(str(proposal[0]))))
    rows: list[Row] = []
    for number, (at, proposal_id) in enumerate(sorted(planned), 1):
        usable = [camera for camera in cameras if camera[1] != 2 or at < "2022-08-31"]
        sky = schema.words["skies"][skewed(draw, 4)]
        verdict = draw.weighted({"A": 0.7, "B": 0.2, "X": 0.1} if sky == "clear" else {"A": 0.35, "B": 0.4, "X": 0.25})
        seeing = None if draw.chance(0.08) else round(draw.between(0.6, 2.0) + draw.between(0.0, 1.2) ** 3, 2)
        seconds = draw.one((30, 60, 120, 300, 300, 600, 900))
        camera = usable[skewed(draw, len(usable))][0]
        target = 1 + skewed(draw, N_TARGETS - 12)
        rows.append((number, camera, proposal_id or None, target, at, seconds, seeing, verdict, sky))
    return rows
