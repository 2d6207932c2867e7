"""The rows of `clinic_lab`."""

from drawing import Draw
from rows_common import Row, Rows, day, moment, people, skewed, typed
from schema import Schema

N_PHYSICIANS, N_PATIENTS, N_REQUESTS = 22, 420, 1_900
RESULTS_A_REQUEST = (1, 4)


def make_rows(schema: Schema, seed: int) -> Rows:
    """All rows, by table."""
    draw = Draw(seed, "clinic_lab")
    requests = _requests(draw)
    return {
        "physician": _physicians(schema, draw),
        "patient": _patients(schema, draw),
        "assay": [tuple(assay) for assay in schema.words["assays"]],
        "request": requests,
        "result": _results(schema, draw, requests),
    }


def _physicians(schema: Schema, draw: Draw) -> list[Row]:
    return [
        (
            number,
            f"Dr {name}",
            draw.one(schema.words["specialties"]),
            day(draw, "1994-01-01", "2021-09-30"),
            None if draw.chance(0.15) else f"{draw.integer((0, 3))}.{draw.integer((1, 24)):02d}",
        )
        for number, name in enumerate(people(draw, N_PHYSICIANS), 1)
    ]


def _patients(schema: Schema, draw: Draw) -> list[Row]:
    rows: list[Row] = []
    for number, name in enumerate(people(draw, N_PATIENTS), 1):
        smoker = draw.weighted({"N": 0.6, "Y": 0.25, "": 0.15})
        blood = None if draw.chance(0.14) else schema.words["blood_types"][skewed(draw, 6)]
        insurer = typed(draw, schema.words["insurers"][skewed(draw, 4)])
        born = day(draw, "1936-01-01", "2021-12-31")
        rows.append((number, name, "F" if draw.chance(0.53) else "M", born, blood, smoker or None, insurer))
    return rows


def _requests(draw: Draw) -> list[Row]:
    made = sorted(moment(draw, day(draw, "2022-01-01", "2024-12-31"), (7, 18)) for _ in range(N_REQUESTS))
    return [
        (
            number,
            1 + skewed(draw, N_PATIENTS),
            1 + skewed(draw, N_PHYSICIANS),
            at,
            draw.weighted({"R": 0.66, "U": 0.24, "E": 0.1}),
        )
        for number, at in enumerate(made, 1)
    ]


def _results(schema: Schema, draw: Draw, requests: list[Row]) -> list[Row]:
    rows: list[Row] = []
    assays, analysers = schema.words["assays"], schema.words["analysers"]
    for request in requests:
        wanted = {skewed(draw, len(assays)) for _ in range(draw.integer(RESULTS_A_REQUEST))}
        for place in sorted(wanted):
            code, _, _, low, high, *_ = assays[place]
            spread = high - low
            value = low + spread * draw.between(0.0, 1.0)
            if draw.chance(0.22):
                value = high + spread * draw.between(0.02, 0.9)
            elif low > 0 and draw.chance(0.1):
                value = low * draw.between(0.6, 0.98)
            on, hour = str(request[3])[:10], int(str(request[3])[11:13])
            measured = moment(draw, on, (hour + 1, min(hour + 4, 23)))
            rows.append(
                (
                    request[0],
                    code,
                    None if draw.chance(0.03) else round(value, 2),
                    measured,
                    analysers[skewed(draw, len(analysers))],
                )
            )
    return rows
