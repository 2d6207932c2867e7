"""The first start state for development, `/museum`: catalogues, rounds of guards, signs, loans, climate, scans."""

from tree_parts import Draw, File, Tree, lines, tar_of

MAKERS = ["Halloran", "Ines Vidal", "Kwame", "Petrov", "unknown", "Zielinski"]
CENTURIES = [15, 16, 17, 18, 19]
ROOMS = ["Amber", "Basalt", "Coral", "Dune"]
GUARDS = ["Ruben", "Selma", "Tariq", "Ursa"]


def museum() -> list[File]:
    """Return its files."""
    tree = Tree("museum", 71)
    draw = tree.draw
    for kind in ("paintings", "coins", "maps"):
        tree.add(f"catalogue/{kind}.psv", _catalogue(draw, kind, 20 + draw.below(10)), since="2022-11-01", days=90)
    tree.add(
        "catalogue/missing.txt", lines(["coins-07", "maps-02", "maps-11", "paintings-05"]), since="2022-12-24", days=1
    )
    tree.add("catalogue/found.txt", lines(["maps-11", "coins-07", "paintings-19"]), since="2022-12-29", days=1)
    for night in range(1, 6):
        tree.add(f"guards/night{night}.txt", _round(draw, 14 + draw.below(8)), since=f"2023-10-{night:02d}", days=1)
    tree.add("guards/keys/.codes", "4711\n", since="2020-01-01", days=9, mode=0o600)
    tree.add(
        "guards/keys/holders.txt",
        lines([f"{name}={1 + draw.below(9)}{draw.one('xyz')}" for name in GUARDS]),
        since="2022-02-01",
        days=50,
    )
    for room in ROOMS:
        tree.add(f"climate/{room.lower()}.dat", _climate(draw), since="2023-10-01", days=25)
        tree.add(f"signs/{room.lower()}.svg", _sign(room), since="2018-03-01", days=1500)
    tree.add("signs/exit.svg", "", since="2023-03-01", days=5)
    tree.add("signs/old/cloakroom.svg", _sign("Cloakroom"), since="2009-03-01", days=90)
    tree.add("loans/out.tsv", _loans(draw, 16), since="2023-09-01", days=20)
    tree.add("loans/in.tsv", _loans(draw, 11), since="2023-09-01", days=20)
    tree.add("loans/contract.text", _contract(draw), since="2021-05-01", days=99)
    for language in ("en", "cy", "ga"):
        tree.add(f"tours/tour_{language}.text", _tour(draw), since="2021-04-01", days=700)
    for name, size in (("vase", 2600), ("mask", 700), ("globe", 4400), ("fan", 1500), ("lute", 0)):
        tree.add(f"scans/{name}.tif", "#" * (size + draw.below(80) if size else 0), since="2019-01-01", days=1500)
    tree.add("scans/queue/harp.tif", "", since="2023-11-01", days=9)
    tree.add("scans/queue/bell.tif.tmp1", "half\n", since="2023-11-01", days=9)
    for name, mode in (("lights", 0o755), ("alarm", 0o700), ("gates", 0o644)):
        tree.add(
            f"control/{name}.rb",
            lines(["#!/usr/bin/ruby", f"# control of {name}", f"puts :{name}"]),
            since="2021-01-01",
            days=600,
            mode=mode,
        )
    tree.add("control/settings.yaml", _settings(draw), since="2022-07-07", days=9, mode=0o664)
    tree.add("shop/posters.tar", tar_of(_posters()), since="2022-01-20", days=9)
    tree.add(
        "shop/sales.text",
        lines([f"{draw.one(['poster', 'mug', 'book', 'postcard'])} {1 + draw.below(30)}" for _ in range(22)]),
        since="2023-08-01",
        days=9,
    )
    return tree.files


def _catalogue(draw: Draw, kind: str, n: int) -> str:
    rows = ["no|maker|century|room|value"]
    rows += [
        f"{kind}-{k:02d}|{draw.one(MAKERS)}|{draw.one(CENTURIES)}|{draw.one(ROOMS)}|{40 + draw.below(9000)}"
        for k in range(n)
    ]
    return lines(rows)


def _round(draw: Draw, n: int) -> str:
    did = ["closed", "open!", "checked", "checked twice", "alarm off", "ALARM on"]
    return lines(
        [
            f"{(20 + k // 3) % 24:02d}.{draw.below(60):02d} door {1 + draw.below(12)} "
            f"{draw.one(did)} / {draw.one(GUARDS)}"
            for k in range(n)
        ]
    )


def _climate(draw: Draw) -> str:
    return lines([f"{day:02d} {38 + draw.below(25)} {16 + draw.below(9)}" for day in range(1, 25)])


def _sign(room: str) -> str:
    return lines(
        ["<svg>", f"  <text>{room} room</text>", "  <rect width='40' />", f"  <!-- print {room} on grey -->", "</svg>"]
    )


def _loans(draw: Draw, n: int) -> str:
    places = ["Gent", "Turku", "Porto", "Riga", "Graz"]
    return lines(
        [
            f"{draw.one(['coins', 'maps', 'paintings'])}-{draw.below(20):02d}\t{draw.one(places)}\t"
            f"{2020 + draw.below(5)}\t{30 * (1 + draw.below(12))}"
            for _ in range(n)
        ]
    )


def _contract(draw: Draw) -> str:
    rows = []
    for part in ("TRANSPORT", "INSURANCE", "RETURN"):
        rows += [
            f"BEGIN {part}",
            *(
                f"The {draw.one(['lender', 'borrower'])} shall {draw.one(['pack', 'insure', 'inspect'])} every crate."
                for _ in range(3)
            ),
            f"END {part}",
        ]
    return lines(rows)


def _tour(draw: Draw) -> str:
    rows = [f"Stop {k}: {draw.one(ROOMS)} room, {draw.one(['two', 'five', 'nine'])} minutes" for k in range(1, 9)]
    return lines([*rows, "", "Thank you.", "  ", "Mind the step."])


def _settings(draw: Draw) -> str:
    return lines(
        [
            "lights:",
            f"  evening: {10 + draw.below(80)}",
            "  dimmer: no",
            "alarm:",
            "  armed: yes",
            f"  delay: {10 + draw.below(40)}",
            "gates:",
            "  open: no",
            "  siren: yes",
        ]
    )


def _posters() -> list[File]:
    tree = Tree("posters", 72)
    for name in ("sphinx", "comet", "tulip"):
        tree.add(f"{name}.svg", f"<svg>{name}</svg>\n", since="2022-01-01", days=9)
    tree.add("sizes/list.text", "A2\nA3\n", since="2022-01-01", days=9)
    tree.add("prices.text", "sphinx 12\ncomet 14\ntulip 11\n", since="2022-01-01", days=9)
    return tree.files
