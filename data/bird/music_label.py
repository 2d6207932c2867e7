"""The rows of `music_label`."""

from drawing import Draw
from rows_common import Row, Rows, day, later, skewed, typed
from schema import Schema

N_ARTISTS, N_ALBUMS, N_CONCERTS = 64, 190, 420
TRACKS = {"LP": (8, 13), "EP": (4, 6), "SG": (1, 2)}
MONTHS = tuple(f"{year}{month:02d}" for year in (2022, 2023, 2024) for month in range(1, 13))
PAID = {"stream": 0.0041, "download": 6.4, "vinyl": 15.5}
SOLD = {"stream": 42_000, "download": 90, "vinyl": 45}


def make_rows(schema: Schema, seed: int) -> Rows:
    """All rows, by table."""
    draw = Draw(seed, "music_label")
    artists = _artists(schema, draw)
    albums = _albums(schema, draw, artists)
    return {
        "artist": artists,
        "album": albums,
        "track": _tracks(schema, draw, albums),
        "statement": _statements(schema, draw, albums),
        "concert": _concerts(schema, draw),
    }


def _artists(schema: Schema, draw: Draw) -> list[Row]:
    words = schema.words
    names = draw.some([f"{a} {b}" for a in words["first"] for b in words["second"]], N_ARTISTS)
    rows: list[Row] = []
    for number, name in enumerate(names, 1):
        signed = day(draw, "2009-01-01", "2021-06-30")
        left = later(signed, draw.integer((400, 4200))) if draw.chance(0.35) else None
        kind = draw.weighted({"B": 0.55, "S": 0.33, "E": 0.12})
        left = None if left is not None and left > "2024-12-31" else left
        rows.append((number, name, kind, draw.one(words["towns"]), signed, left, round(draw.between(8.0, 24.0), 1)))
    return rows


def _albums(schema: Schema, draw: Draw, artists: list[Row]) -> list[Row]:
    words = schema.words
    pairs = [f"{a} {b}" for a in words["album_first"] for b in words["album_second"]]
    titles = draw.some([pair + tail for pair in pairs for tail in ("", " II", " (Live)")], N_ALBUMS)
    rows: list[Row] = []
    for number, title in enumerate(titles, 1):
        artist = artists[skewed(draw, N_ARTISTS)]
        length = draw.weighted({"LP": 0.6, "EP": 0.25, "SG": 0.15})
        cost = draw.between(400.0, 5000.0) * {"LP": 3.0, "EP": 1.5, "SG": 0.6}[length]
        released = day(draw, str(artist[4]), str(artist[5] or "2024-05-31"))
        genre = typed(draw, words["genres"][skewed(draw, 5)])
        rows.append((number, artist[0], title, length, genre, released, None if draw.chance(0.12) else round(cost, 2)))
    return rows


def _tracks(schema: Schema, draw: Draw, albums: list[Row]) -> list[Row]:
    titles = [f"{a} {b}" for a in schema.words["track_first"] for b in schema.words["track_second"]]
    rows: list[Row] = []
    for album in albums:
        for position, title in enumerate(draw.some(titles, draw.integer(TRACKS[str(album[3])])), 1):
            bpm = None if draw.chance(0.1) else draw.integer((62, 178))
            explicit = int(draw.chance(0.15))
            rows.append((len(rows) + 1, album[0], position, title, draw.integer((95, 520)), bpm, explicit))
    return rows


def _statements(schema: Schema, draw: Draw, albums: list[Row]) -> list[Row]:
    rows: list[Row] = []
    for album in albums:
        fame = draw.between(0.1, 1.0) ** 2
        released = str(album[5])[:7].replace("-", "")
        for month in MONTHS:
            for channel in schema.words["channels"]:
                if month < released or not draw.chance({"stream": 0.5, "download": 0.3, "vinyl": 0.15}[channel]):
                    continue
                units = 1 + int(SOLD[channel] * fame * draw.between(0.3, 1.7))
                rows.append((album[0], month, channel, units, round(units * PAID[channel], 2)))
    return rows


def _concerts(schema: Schema, draw: Draw) -> list[Row]:
    held = sorted(day(draw, "2021-09-01", "2024-12-20") for _ in range(N_CONCERTS))
    venues = schema.words["venues"]
    rows: list[Row] = []
    for number, on in enumerate(held, 1):
        place = draw.integer((0, len(venues) - 1))
        capacity = 180 + 340 * place
        sold = None if draw.chance(0.09) else int(capacity * min(1.0, draw.between(0.2, 1.15)))
        price = round(draw.between(9.0, 48.0) * 2) / 2
        rows.append((number, 1 + skewed(draw, N_ARTISTS), venues[place], on, capacity, sold, price))
    return rows
