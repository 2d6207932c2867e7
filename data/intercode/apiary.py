"""The second start state for development, `/apiary`: hives, harvests, visits, weights, mail, seeds, tools."""

from tree_parts import Draw, File, Tree, gzip_of, lines

FLOWERS = ["clover", "heather", "linden", "borage", "acacia"]
KEEPERS = ["Marit", "Noor", "Oluf", "Pia"]


def apiary() -> list[File]:
    """Return its files."""
    tree = Tree("apiary", 81)
    draw = tree.draw
    for k in range(1, 9):
        tree.add(f"hives/hive{k:02d}.rec", _hive(draw, k), since="2023-03-01", days=150)
    for k in range(90, 94):
        tree.add(f"hives/retired/hive{k}.rec", _hive(draw, k), since="2015-03-01", days=50)
    for name in ("map", "plan"):
        tree.add(f"hives/{name}.txt", f"{name} of the meadow\nnorth is up\n", since="2022-03-01", days=50)
    for year in (2021, 2022, 2023):
        tree.add(f"harvest/{year}.csv", _harvest(draw), since=f"{year}-09-15", days=20)
    for day in ("0412", "0519", "0630", "0808"):
        tree.add(f"visits/{day}.md", _visit(draw), since=f"2023-{day[:2]}-{day[2:]}", days=1)
    tree.add("visits/older/2018.md", _visit(draw), since="2018-12-01", days=5)
    for k in (1, 4, 6):
        tree.add(f"weights/hive{k:02d}.dat", _weights(draw), since="2023-07-01", days=20)
    for k, name in enumerate(("heather-fair", "new-queen", "jars", "jars-again")):
        tree.add(f"post/{name}.msg", _letter(draw), since="2023-02-01", days=200, mode=0o600 if k == 1 else 0o644)
    tree.add("post/.sent", "2\n", since="2023-02-01", days=20)
    tree.add("seeds/ordered.lst", lines([draw.one(FLOWERS) for _ in range(14)]), since="2023-01-01", days=20)
    tree.add(
        "seeds/sown.lst", lines(["clover", "borage", "phacelia", "clover", "sainfoin"]), since="2023-04-01", days=20
    )
    for name, mode in (("scale", 0o755), ("smoker", 0o644), ("label", 0o775)):
        tree.add(
            f"tools/{name}.pl",
            lines(["use strict;", f"# {name}", f"print '{name}';", "# XXX round up"]),
            since="2020-05-01",
            days=800,
            mode=mode,
        )
    tree.add("tools/backup.pl~", "", since="2020-05-01", days=80)
    tree.add("tools/config.props", _props(draw), since="2022-05-01", days=80)
    for name, size in (("swarm", 3900), ("comb", 1200), ("queen", 2200)):
        tree.add(f"films/{name}.mov", "=" * (size + draw.below(80)), since="2020-06-01", days=900)
    tree.add("films/empty.mov", "", since="2023-06-01", days=9)
    tree.add("old/visits2017.md.gz", gzip_of(_visit(draw)), since="2017-12-01", days=9)
    return tree.files


def _hive(draw: Draw, k: int) -> str:
    return lines([
        f"hive: {k}", f"queen: {draw.one(['marked', 'unmarked', 'none'])}", f"frames: {6 + draw.below(20)}",
        f"keeper: {draw.one(KEEPERS)}",
        f"flower: {draw.one(FLOWERS)}", f"mites: {draw.below(30)}",
        "note: look again, look closely" if draw.below(2) else "note: fine", "place: lookout hill",
    ])  # fmt: skip


def _harvest(draw: Draw) -> str:
    rows = [
        f"hive{1 + draw.below(8):02d},{draw.one(FLOWERS)},{3 + draw.below(30)},{draw.one(['jar', 'pail'])},"
        f"{draw.one(KEEPERS)}"
        for _ in range(18)
    ]
    return lines(["hive,flower,kilos,vessel,keeper", *rows])


def _visit(draw: Draw) -> str:
    saw = [
        "brood on five frames",
        "no eggs",
        "mites on the board",
        "Mites again",
        "wax moth",
        "calm bees",
        "queen seen",
        "queenless, maybe",
    ]
    return lines(
        [
            f"## {draw.one(KEEPERS)}",
            *(f"* hive{1 + draw.below(8):02d} - {draw.one(saw)}" for _ in range(11 + draw.below(6))),
            "",
            f"next: {1 + draw.below(28)}",
        ]
    )


def _weights(draw: Draw) -> str:
    return lines([f"{hour:02d}h {30000 + draw.below(9000)} g" for hour in range(0, 24, 2)])


def _letter(draw: Draw) -> str:
    return lines(
        [
            f"to {draw.one(KEEPERS)}",
            f"from {draw.one(KEEPERS)}",
            f"about {draw.one(['jars', 'queens', 'the fair'])}",
            "",
            f"We need {10 + draw.below(80)} lids.",
            "Until soon",
        ]
    )


def _props(draw: Draw) -> str:
    return lines(
        [
            "! tools",
            f"scale.port={4 + draw.below(5)}",
            "scale.unit=gram",
            f"label.width={40 + draw.below(30)}",
            "",
            "label.font=mono",
            "smoker.fuel=hay",
            "! end",
        ]
    )
