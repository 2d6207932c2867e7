"""The rows of `seed_bank`."""

from drawing import Draw
from rows_common import Row, Rows, day, later, people, skewed, typed
from schema import Schema

N_PLANTS, N_EXPEDITIONS, N_ACCESSIONS, N_TESTS, N_DISPATCHES = 64, 40, 1_400, 2_600, 1_300
LAST_DAY = "2024-11-30"


def make_rows(schema: Schema, seed: int) -> Rows:
    """All rows, by table."""
    draw = Draw(seed, "seed_bank")
    expeditions = _expeditions(schema, draw)
    accessions = _accessions(schema, draw, expeditions)
    return {
        "plant": _plants(schema, draw),
        "expedition": expeditions,
        "accession": accessions,
        "viability_test": _tests(draw, accessions),
        "dispatch": _dispatches(schema, draw, accessions),
    }


def _plants(schema: Schema, draw: Draw) -> list[Row]:
    words = schema.words
    latin = draw.some([f"{a} {b}" for a in words["latin"] for b in words["epithets"]], N_PLANTS)
    common = draw.some([f"{a} {b}" for a in words["common_first"] for b in words["common_second"]], N_PLANTS)
    return [
        (
            number,
            latin[number - 1],
            common[number - 1],
            words["families"][words["latin"].index(latin[number - 1].split()[0]) // 2],
            draw.weighted({"HE": 0.5, "GR": 0.2, "SH": 0.18, "TR": 0.12}),
            draw.weighted({"0": 0.4, "1": 0.22, "2": 0.15, "3": 0.08, "": 0.15}) or None,
        )
        for number in range(1, N_PLANTS + 1)
    ]


def _expeditions(schema: Schema, draw: Draw) -> list[Row]:
    leaders = people(draw, 9, of="train")
    starts = sorted(day(draw, "2009-04-01", "2023-08-31") for _ in range(N_EXPEDITIONS))
    rows: list[Row] = []
    for number, start in enumerate(starts, 1):
        sponsorship = round(draw.between(900.0, 14_000.0), 2) if draw.chance(0.7) else None
        region = schema.words["regions"][skewed(draw, 6)]
        rows.append((number, region, leaders[skewed(draw, 9)], start, later(start, draw.integer((5, 45))), sponsorship))
    return rows


def _accessions(schema: Schema, draw: Draw, expeditions: list[Row]) -> list[Row]:
    rows: list[Row] = []
    for number in range(5001, 5001 + N_ACCESSIONS):
        trip = expeditions[int(N_EXPEDITIONS * draw.between(0.0, 1.0))] if draw.chance(0.82) else None
        gathered = day(draw, "2009-04-01", "2023-10-31") if trip is None else day(draw, str(trip[3]), str(trip[4]))
        rows.append(
            (
                number,
                1 + skewed(draw, N_PLANTS),
                None if trip is None else trip[0],
                gathered,
                typed(draw, schema.words["localities"][skewed(draw, 6)]),
                schema.words["vaults"][skewed(draw, 4)],
                draw.integer((120, 9_000)),
                round(draw.between(3.0, 9.5) + (0.9 if trip is None else 0.0), 1),
            )
        )
    return rows


def _tests(draw: Draw, accessions: list[Row]) -> list[Row]:
    rows: list[Row] = []
    for number in range(1, N_TESTS + 1):
        accession = accessions[skewed(draw, N_ACCESSIONS)]
        begun = day(draw, later(str(accession[3]), 60), LAST_DAY)
        sown = draw.one((25, 50, 50, 100))
        age = int(begun[:4]) - int(str(accession[3])[:4])
        rate = max(0.02, min(1.0, draw.between(0.45, 1.05) - 0.03 * age - 0.02 * (float(str(accession[7])) - 5.0)))
        sprouted = None if draw.chance(0.04) else int(sown * rate)
        rows.append((number, accession[0], begun, sown, sprouted, draw.one((5, 15, 20, 25))))
    return rows


def _dispatches(schema: Schema, draw: Draw, accessions: list[Row]) -> list[Row]:
    rows: list[Row] = []
    left = {accession[0]: int(str(accession[6])) for accession in accessions}
    for number in range(1, N_DISPATCHES + 1):
        accession = accessions[skewed(draw, N_ACCESSIONS)]
        purpose = draw.weighted({"RES": 0.5, "SOW": 0.3, "DUP": 0.2})
        seeds = min(draw.integer((20, 400)) * (2 if purpose == "DUP" else 1), left[accession[0]] // 2)
        left[accession[0]] -= seeds
        fee = None if purpose == "DUP" or draw.chance(0.2) else round(8.0 + 0.11 * seeds, 2)
        who = schema.words["requesters"][skewed(draw, 6)]
        rows.append((number, accession[0], who, purpose, day(draw, str(accession[3]), LAST_DAY), seeds, fee))
    return rows
