"""The second start state for training, `/ferry`: timetables, passengers, a deck's log, notices, stores, dumps."""

from tree_parts import Draw, File, Tree, lines, tar_of

PORTS = ["Harwick", "Skarvo", "Tolmen", "Ulfsund"]
VESSELS = ["Petrel", "Guillemot", "Kittiwake"]
LINES = ["red", "blue", "green"]
RANKS = ["mate", "cook", "engineer", "deckhand", "purser"]
SAILORS = ["Iversen", "Pascoe", "Quill", "Rasmussen", "Sorley", "Trevanion", "Ullman", "Voss", "Wickett", "Yorath"]


def ferry() -> list[File]:
    """Return its files."""
    tree = Tree("ferry", 51)
    draw = tree.draw
    for port in PORTS:
        tree.add(f"timetable/{port.lower()}.csv", _timetable(draw), since="2023-02-01", days=60)
    for month in range(1, 6):
        tree.add(f"passengers/2023-{month:02d}.csv", _passengers(draw, month), since=f"2023-{month:02d}-27", days=2)
    tree.add("passengers/2019-summary.csv", _passengers(draw, 7), since="2019-12-30", days=2)
    for vessel in VESSELS:
        tree.add(f"deck/{vessel.lower()}.log", _deck(draw, 24 + draw.below(6)), since="2023-03-20", days=90)
    tree.add("deck/archive/petrel-2020.log", _deck(draw, 10), since="2020-12-01", days=20)
    tree.add(
        "crew/list.txt",
        lines([f"{name} {draw.one(RANKS)} {1 + draw.below(30)} {draw.one(VESSELS)}" for name in SAILORS]),
        days=200,
    )
    tree.add("crew/aboard.txt", lines(["Quill", "Voss", "Pascoe", "Iversen", "Nance"]), since="2023-06-02", days=1)
    tree.add(
        "crew/signed.txt", lines(["Voss", "Iversen", "Yorath", "Quill", "Sorley", "Bligh"]), since="2023-06-01", days=1
    )
    for k, name in enumerate(("master", "radio", "medical", "tanker")):
        tree.add(
            f"crew/certs/{name}.cert",
            f"certificate {name}\nvalid {2024 + k}\n",
            since="2017-04-01",
            days=900,
            mode=(0o600, 0o644, 0o666, 0o640)[k],
        )
    for name in ("fares", "delays", "dogs", "storm"):
        tree.add(f"notices/{name}.html", _notice(draw, name), since="2021-01-01", days=900)
    for name in ("winter", "bridge"):
        tree.add(f"notices/draft/{name}.html", _notice(draw, name), since="2023-05-01", days=30)
    tree.add("notices/draft/.unsent", "winter\n", since="2023-05-31", days=2)
    for name in ("oil", "fuel", "coolant"):
        tree.add(f"engine/{name}.dat", _gauge(draw, name), since="2023-06-01", days=20)
    tree.add("engine/limits.set", "oil=6\nfuel=90\nmaxfuel=99\ncoolant=85\n", since="2018-01-01", days=60)
    tree.add("stores/inventory.txt", _stores(draw), since="2023-04-11", days=9)
    tree.add("stores/wanted.txt", _wanted(draw), since="2023-04-12", days=9)
    tree.add("stores/rope/lengths.lst", lines([f"{4 + draw.below(90)}" for _ in range(14)]), since="2022-04-12", days=9)
    for name, size in (("bow", 800), ("stern", 3600), ("engine-room", 2100), ("car-deck", 5200)):
        tree.add(f"cameras/{name}.dump", "~" * (size + draw.below(90)), since="2020-01-01", days=1300)
    for name in ("bow", "stern", "mast"):
        tree.add(f"cameras/{name}.idx", "" if name != "stern" else "0 3600\n", since="2023-01-01", days=90)
    for name, mode in (("depart", 0o755), ("dock", 0o744), ("horn", 0o644)):
        tree.add(
            f"programs/{name}",
            lines(["#!/bin/sh", f"# {name}", f"echo {name} all # twice"]),
            since="2022-05-01",
            days=300,
            mode=mode,
        )
    tree.add(
        "programs/weather.py",
        lines(["import sys", "print(sys.argv)", "# FIXME read the wind", "print(len(sys.argv))"]),
        since="2022-05-01",
        days=300,
    )
    tree.add("returns/letters.tar", tar_of(_letters()), since="2022-10-01", days=3)
    return tree.files


def _timetable(draw: Draw) -> str:
    rows = ["dep,arr,to,line,vessel"]
    for hour in range(6, 21, 1 + draw.below(2)):
        minute = 5 * draw.below(6)
        rows.append(
            f"{hour:02d}:{minute:02d},{hour + 1:02d}:{minute + 25},{draw.one(PORTS)},{draw.one(LINES)},"
            f"{draw.one(VESSELS)}"
        )
    return lines(rows)


def _passengers(draw: Draw, month: int) -> str:
    rows = ["date,line,adults,children,bikes,weather"]
    for day in range(1, 29, 1 + draw.below(2)):
        counts = ",".join(str(3 + draw.below(n)) for n in (190, 60, 30))
        rows.append(f"{month:02d}-{day:02d},{draw.one(LINES)},{counts},{draw.one(['fair', 'gale', 'fog'])}")
    return lines(rows)


def _deck(draw: Draw, n: int) -> str:
    says = [
        "left the quay",
        "gale warning",
        "radar off",
        "radar on",
        "pump alarm",
        "engine alarm, engine slow",
        "all ashore",
        "engineer called",
    ]
    where = ["bridge", "engine", "cardeck"]
    return lines(
        [
            f"{6 + k // 2:02d}:{draw.below(60):02d} [{draw.one(where)}] {draw.one(says)} no.{draw.below(40)}"
            for k in range(n)
        ]
    )


def _notice(draw: Draw, name: str) -> str:
    places = ["ramp", "gap", "rail", "ramp and the rail"]
    items = [
        f"<li>{draw.one(['Please', 'please', 'Kindly'])} mind the {draw.one(places)}.</li>"
        for _ in range(3 + draw.below(4))
    ]
    return lines(
        [
            "<html>",
            f"<h1>{name.capitalize()}</h1>",
            "<!-- checked -->",
            "<ul><li>Thank you.</li>",
            *items,
            "</ul><p>Ask on deck.</p>",
            f"<p>Port office, desk {draw.below(2)}</p>",
            "</html>",
        ]
    )


def _gauge(draw: Draw, name: str) -> str:
    return lines(
        [
            f"# {name} gauge",
            *(f"{hour:02d} {20 + draw.below(75)} {draw.one(['ok', 'ok', 'ok', 'high'])}" for hour in range(0, 24, 2)),
        ]
    )


def _stores(draw: Draw) -> str:
    things = ["rope", "paint", "lamps", "life vests", "charts", "soap", "coffee", "flares", "blankets", "filters"]
    return lines(
        [
            f"{thing}: {2 + draw.below(60)} {draw.one(['boxes', 'pieces', 'cans'])}, "
            f"shelf {draw.one('KLMN')}{draw.below(9)}"
            for thing in things
        ]
    )


def _wanted(draw: Draw) -> str:
    return lines([draw.one(["paint", "soap", "flares", "coffee", "Soap flakes", "tea"]) for _ in range(18)])


def _letters() -> list[File]:
    tree = Tree("letters", 52)
    for number, name in enumerate(("ashdown", "birley", "castell"), 1):
        text = lines(
            [
                f"Letter {number} from {name.capitalize()}",
                "The ferry was late.",
                f"I ask for {number * 12} crowns back.",
            ]
        )
        tree.add(f"{name}.txt", text, since="2022-08-01", days=20)
    tree.add("birley.txt.bak", "Letter 0\n", since="2022-08-01", days=20)
    tree.add("stamps/used.lst", "blue\ngrey\n", since="2022-08-01", days=20)
    return tree.files
