"""The three start states of the bundled shell tasks: what their files hold, drawn from fixed seeds."""

from collections.abc import Callable, Iterator

from tree_parts import Draw, File


def project(draw: Draw) -> Iterator[tuple[str, str, int]]:
    """A small program: sources, documents, settings, logs and what a build left behind."""
    modules = ["parser", "reader", "writer", "cache", "index", "queue", "router", "session", "storage", "timer"]
    for name in modules:
        yield f"src/core/{name}.py", _source(draw, name, 8 + draw.below(20)), 0o644
    for name in ["menu", "table", "chart", "form"]:
        yield f"src/web/{name}.js", _script(draw, name, 5 + draw.below(12)), 0o644
        yield f"src/web/{name}.css", "".join(f".{name}-{k} {{ margin: {draw.below(9)}px; }}\n" for k in range(4)), 0o644
    for name in ["parser", "cache", "router"]:
        yield f"checks/check_{name}.py", _source(draw, f"check_{name}", 4 + draw.below(8)), 0o644
    for name in ["install", "usage", "design", "changes"]:
        yield f"docs/{name}.md", _prose(draw, 6 + draw.below(10), ["timeout", "retry", "cache"]), 0o644
    yield "docs/draft/ideas.md", _prose(draw, 5, ["retry"]), 0o644
    for name in ["server", "client", "limits"]:
        yield f"settings/{name}.conf", _settings(draw), 0o644
    yield (
        "settings/hosts.txt",
        "".join(f"{name}:{9000 + draw.below(90)}:{draw.one(ZONES)}\n" for name in modules),
        0o600,
    )
    for day in range(1, 6):
        yield f"logs/app-{day}.log", _log(draw, 20 + draw.below(25)), 0o644
    for name in ["parser", "cache", "index"]:
        yield f"build/{name}.o", "\x7fOBJ" + "x" * (200 + draw.below(2600)), 0o644
        yield f"build/{name}.tmp", "", 0o644
    yield "build/all.sh", "#!/bin/sh\necho building\n", 0o644
    yield "build/pack.sh", "#!/bin/sh\necho packing\n", 0o644


def library(draw: Draw) -> Iterator[tuple[str, str, int]]:
    """A lending library: tables, letters, lists with repetitions, and old copies."""
    genres, towns = (
        ["travel", "history", "poetry", "science", "cooking", "music"],
        ["Ashford", "Brill", "Corby", "Denton", "Ely"],
    )
    authors = ["Abel", "Barlow", "Crane", "Dyson", "Elgin", "Farrow", "Gould", "Hale"]
    rows = ["id,title,author,year,genre,copies"]
    rows += [
        f"{100 + k},The {draw.one(ADJECTIVES)} {draw.one(NOUNS)},{draw.one(authors)},{1950 + draw.below(70)},"
        f"{draw.one(genres)},{1 + draw.below(9)}"
        for k in range(60)
    ]
    yield "tables/books.csv", _lines(rows), 0o644
    members = [
        f"{k},{draw.one(authors)} {chr(65 + draw.below(26))},{draw.one(towns)},{draw.below(40)}" for k in range(40)
    ]
    yield "tables/members.csv", _lines(["id,name,town,fines", *members]), 0o644
    loans = [
        f"{100 + draw.below(60)},{draw.below(40)},2023-{1 + draw.below(12):02d},{draw.one(STATES)}" for _ in range(90)
    ]
    yield "tables/loans.csv", _lines(["book,member,month,state", *loans]), 0o644
    for name in ["abel", "barlow", "crane", "dyson", "elgin", "farrow"]:
        yield f"letters/{name}.txt", _prose(draw, 4 + draw.below(12), ["overdue", "thank", "reserve"]), 0o644
    for year in (2021, 2022):
        for name in ["spring", "autumn"]:
            yield f"letters/{year}/{name}.txt", _prose(draw, 5 + draw.below(6), ["overdue", "donation"]), 0o644
    for name in ["wishes", "returns", "shelves"]:
        yield f"lists/{name}.txt", _lines([f"{draw.one(ADJECTIVES)} {draw.one(NOUNS)[:5]}" for _ in range(45)]), 0o644
    for name in ["wishes", "books", "notes"]:
        yield f"old/{name}.bak", _prose(draw, 3 + draw.below(40), ["donation"]), 0o644
    for name in ["north", "south", "east"]:
        yield f"rooms/{name}.dat", "", 0o644
        yield f"rooms/{name}.md", _prose(draw, 3 + draw.below(5), ["reserve", "quiet"]), 0o644
    yield "rooms/keys.txt", _lines([f"{draw.one(NOUNS)}:{draw.below(900)}:{draw.one(towns)}" for _ in range(20)]), 0o600


def station(draw: Draw) -> Iterator[tuple[str, str, int]]:
    """A weather station: readings, logs, settings, scripts and leftovers."""
    sensors, units = ["wind", "rain", "heat", "light"], ["knots", "mm", "celsius", "lux"]
    for month in range(1, 7):
        rows = ["day,sensor,value,unit"]
        for _ in range(30 + draw.below(20)):
            k = draw.below(4)
            rows.append(f"{1 + draw.below(28)},{sensors[k]},{draw.below(90)},{units[k]}")
        yield f"readings/month{month}.csv", _lines(rows), 0o644
    for name in ["mast", "roof", "cellar"]:
        for day in range(1, 4):
            yield f"logs/{name}/day{day}.log", _log(draw, 12 + draw.below(25)), 0o644
    for name in ["mast", "roof", "cellar", "gate"]:
        yield f"settings/{name}.conf", _settings(draw), 0o644
        yield f"settings/{name}.ini", _settings(draw), 0o600
    for name in ["collect", "upload", "rotate"]:
        yield f"tools/{name}.sh", f"#!/bin/sh\n# {name} the readings\necho {name}\n", 0o644
    for name in ["a", "b", "c", "d"]:
        yield f"spool/{name}.tmp", "", 0o644
        yield f"spool/{name}.part", "y" * (100 + draw.below(3000)), 0o644
    yield "reports/summary.txt", _prose(draw, 14, ["storm", "calm"]), 0o644
    yield "reports/storms.txt", _lines([f"{draw.one(sensors)} {draw.one(ADJECTIVES)} storm" for _ in range(40)]), 0o644
    yield (
        "reports/crew.txt",
        _lines([f"{draw.one(NOUNS)}:{draw.one(sensors)}:{20 + draw.below(40)}" for _ in range(25)]),
        0o644,
    )


ADJECTIVES = ["quiet", "broken", "distant", "golden", "hollow", "narrow", "silent", "winter"]
NOUNS = ["harbour", "garden", "lantern", "mirror", "orchard", "river", "tower", "valley"]
STATES = ["returned", "overdue", "lost", "open"]
ZONES = ["north", "south", "east", "west"]
LEVELS = ["INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR"]
PARTS = ["disk", "network", "clock", "power"]
MESSAGES = ["started", "stopped", "timeout after 30 s", "value out of range", "retry in 5 s", "all fine"]
KEYS = ["host", "port", "depth", "limit", "level", "colour", "owner"]
FILLER = [
    *("we", "keep", "the", "old", "paper", "near", "a", "window", "and", "look"),
    *("at", "it", "when", "there", "is", "time", "for", "reading"),
]


def _lines(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def _prose(draw: Draw, n: int, words: list[str]) -> str:
    rows = []
    for _ in range(n):
        row = [draw.one(FILLER) for _ in range(6 + draw.below(5))]
        if draw.below(3) == 0:
            row.insert(draw.below(len(row)), draw.one(words))
        rows.append(" ".join(row).capitalize() + ".")
    return _lines(rows)


def _source(draw: Draw, name: str, n: int) -> str:
    rows = [f'"""Module {name}."""', "import os", ""]
    for k in range(n):
        rows.append(f"def {name}_{k}(value):")
        rows.append(f"    return value + {draw.below(100)}" + ("  # deprecated" if draw.below(6) == 0 else ""))
    return _lines(rows)


def _script(draw: Draw, name: str, n: int) -> str:
    return _lines([f"function {name}{k}() {{ return {draw.below(50)}; }}" for k in range(n)] + ["// retry later"])


def _settings(draw: Draw) -> str:
    return _lines([f"{key} = {draw.one([*ZONES, 'localhost', '8080', 'debug'])}" for key in KEYS])


def _log(draw: Draw, n: int) -> str:
    return _lines([f"{draw.one(LEVELS)}:{draw.one(PARTS)}:{draw.one(MESSAGES)}" for _ in range(n)])


TREES: dict[str, tuple[str, Callable[[Draw], Iterator[tuple[str, str, int]]]]] = {
    "fs_1": ("project", project),
    "fs_2": ("library", library),
    "fs_3": ("station", station),
}
"""File system -> the folder at `/` that holds it, and what draws its files."""


def files_of(file_system: str) -> list[File]:
    """Return the files of a start state, sorted by path."""
    top, drawn = TREES[file_system]
    draw = Draw(int(file_system[-1]))
    files = [File(f"{top}/{path}", content, mode, draw.mtime()) for path, content, mode in drawn(draw)]
    return sorted(files)
