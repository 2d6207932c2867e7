"""The rows of `library_network`."""

from drawing import Draw
from rows_common import Row, Rows, day, days_between, later, people, skewed, typed
from schema import Schema

N_AUTHORS, N_BOOKS, N_COPIES, N_READERS, N_LOANS = 120, 480, 1_500, 560, 4_800
LAST_DAY = "2024-06-30"
GENRE_SHARES = {"FIC": 0.42, "NON": 0.24, "CHI": 0.18, "POE": 0.08, "REF": 0.08}
LOAN_DAYS, FINE_A_DAY = 28, 0.15


def make_rows(schema: Schema, seed: int) -> Rows:
    """All rows, by table."""
    draw = Draw(seed, "library_network")
    books = _books(schema, draw)
    return {
        "branch": _branches(schema, draw),
        "author": _authors(schema, draw),
        "book": books,
        "copy": _copies(schema, draw, books),
        "reader": _readers(schema, draw),
        "loan": _loans(draw),
    }


def _branches(schema: Schema, draw: Draw) -> list[Row]:
    words = schema.words
    return [
        (
            number,
            name,
            town,
            day(draw, "1911-01-01", "2015-12-31"),
            draw.integer((90, 2400)),
            "Y" if draw.chance(0.6) else "N",
        )
        for number, (name, town) in enumerate(zip(words["branches"], words["towns"], strict=True), 1)
    ]


def _authors(schema: Schema, draw: Draw) -> list[Row]:
    rows: list[Row] = []
    for number, name in enumerate(people(draw, N_AUTHORS), 1):
        born = draw.integer((1862, 1992))
        dead = min(born + draw.integer((45, 92)), 2023) if born < 1945 or draw.chance(0.06) else None
        rows.append((number, name, draw.one(schema.words["countries"]), born, dead))
    return rows


def _books(schema: Schema, draw: Draw) -> list[Row]:
    words = schema.words
    titles = draw.some(
        [f"The {a} {b}{c}" for a in words["adjectives"] for b in words["nouns"] for c in sorted(set(words["tails"]))],
        N_BOOKS,
    )
    rows: list[Row] = []
    for number, title in enumerate(titles, 1):
        genre = draw.weighted(GENRE_SHARES)
        pages = {"CHI": 60, "POE": 80}.get(genre, 190) + int(480 * draw.between(0.0, 1.0) ** 1.5)
        language = words["languages"][skewed(draw, 4)]
        rows.append(
            (
                number,
                title,
                1 + skewed(draw, N_AUTHORS),
                genre,
                draw.integer((1921, 2019)),
                None if draw.chance(0.06) else pages,
                language,
            )
        )
    return rows


def _copies(schema: Schema, draw: Draw, books: list[Row]) -> list[Row]:
    rows: list[Row] = []
    for number in range(20_001, 20_001 + N_COPIES):
        book = books[skewed(draw, N_BOOKS)]
        branch = 1 + skewed(draw, len(schema.words["branches"]))
        acquired = day(draw, max("1998-01-01", f"{book[4]}-06-01"), "2021-12-31")
        condition = draw.weighted({"G": 0.6, "W": 0.3, "D": 0.1})
        price = None if draw.chance(0.1) else round(draw.between(4.0, 38.0), 2)
        rows.append((number, book[0], branch, acquired, condition, price))
    return rows


def _readers(schema: Schema, draw: Draw) -> list[Row]:
    rows: list[Row] = []
    for number, name in enumerate(people(draw, N_READERS), 1):
        email = name.lower().replace(" ", ".") + "@" + draw.one(("postbox", "tarnmail", "ardnet")) + ".example"
        rows.append(
            (
                number,
                name,
                draw.weighted({"A": 0.6, "J": 0.25, "S": 0.15}),
                day(draw, "2005-01-01", "2021-12-31"),
                None if draw.chance(0.3) else email,
                typed(draw, f"{draw.integer((1, 90))} {draw.one(schema.words['streets'])}"),
                1 + skewed(draw, len(schema.words["branches"])),
            )
        )
    return rows


def _loans(draw: Draw) -> list[Row]:
    out = sorted(day(draw, "2022-01-01", LAST_DAY) for _ in range(N_LOANS))
    rows: list[Row] = []
    for number, on in enumerate(out, 1):
        due = later(on, LOAN_DAYS)
        back = later(on, 1 + int(55 * draw.between(0.0, 1.0) ** 1.3))
        returned = back if back <= LAST_DAY and not draw.chance(0.03) else None
        fine = round(days_between(due, returned) * FINE_A_DAY, 2) if returned is not None and returned > due else None
        rows.append((number, 20_001 + skewed(draw, N_COPIES), 1 + skewed(draw, N_READERS), on, due, returned, fine))
    return rows
