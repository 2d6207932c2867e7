"""The first start state for training, `/bakery`: orders, recipes, a till's lines, settings of ovens, scripts."""

from tree_parts import Draw, File, Tree, gzip_of, lines, tar_of

GOODS = ["rye loaf", "sesame bun", "plum tart", "pretzel", "oat cookie", "brioche", "cheese roll"]
BUYERS = ["Okafor", "Lindqvist", "Marchetti", "Tanaka", "Boateng", "Novak"]
FLOURS = ["rye flour", "spelt flour", "butter", "sugar", "salt", "yeast", "plums", "milk", "eggs", "sesame"]
STEPS = ["Knead for", "Let the dough rest", "Bake it", "Cool it down", "Fold it and wait", "Stir in the butter"]


def bakery() -> list[File]:
    """Return its files."""
    tree = Tree("bakery", 41)
    draw = tree.draw
    for year in (2021, 2022, 2023):
        tree.add(f"orders/orders-{year}.csv", _orders(draw, 24 + draw.below(8)), since=f"{year}-12-01", days=25)
    tree.add("orders/pending.txt", lines(sorted({draw.one(BUYERS) for _ in range(4)})), since="2023-12-20", days=5)
    tree.add(
        "orders/delivered.txt", lines(["Tanaka", "Abara", "Novak", "Lindqvist", "Quist"]), since="2023-12-26", days=3
    )
    for name in ("rye", "plumtart", "brioche", "pretzel", "oatcookie"):
        tree.add(f"recipes/{name}.txt", _recipe(draw, name), since="2021-03-01", days=300)
    for name in ("rusk", "gingerbread"):
        tree.add(f"recipes/grandma/{name}.txt", _recipe(draw, name), since="2014-02-01", days=200)
    tree.add("recipes/grandma/README", "Ask before you change a recipe here.\n", since="2014-01-05", days=9)
    for day in range(1, 7):
        tree.add(f"till/day{day:02d}.txt", _till(draw, 14 + draw.below(9)), since=f"2023-05-{day:02d}", days=1)
    tree.add("till/.lock", "pid 812\n", since="2023-05-06", days=1)
    tree.add("staff/rota.tsv", _rota(draw), since="2023-04-01", days=20)
    tree.add("staff/contacts.txt", _contacts(draw), since="2022-06-01", days=100, mode=0o640)
    tree.add(
        "staff/wages.txt", lines([f"{name} {1900 + draw.below(900)}" for name in CREW]), since="2023-01-03", mode=0o666
    )
    for k in range(1, 4):
        tree.add(f"ovens/oven{k}.cfg", _oven(draw), since="2020-07-01", days=400, mode=(0o644, 0o646, 0o600)[k - 1])
    tree.add("ovens/.oven2.cfg.swp", "swap\n", since="2023-02-02", days=3)
    tree.add("ovens/manual.pdf.part", "%" * 2300, since="2019-08-01", days=50)
    for name, mode in (("open", 0o755), ("close", 0o644), ("count", 0o750), ("print", 0o644), ("sweep", 0o777)):
        tree.add(f"scripts/{name}.sh", _script(name), since="2022-02-01", days=500, mode=mode)
    tree.add("scripts/helpers/tax.sh", "#!/bin/sh\necho $((100 * 7 / 107))\n", since="2021-01-01", days=30)
    for name in ("rye", "bun", "tart", "cookie"):
        tree.add(
            f"labels/{name}.lbl",
            "" if name in ("bun", "cookie") else f"[{name}] fresh today\n",
            since="2022-09-01",
            days=99,
        )
    for name, size in (("shopfront", 4100), ("counter", 1700), ("cake", 2900), ("team", 600)):
        tree.add(f"photos/{name}.raw", "@" * (size + draw.below(90)), since="2018-05-01", days=1900)
    tree.add("photos/captions.txt", _captions(draw), since="2023-03-03", days=9)
    tree.add("archive/menus.tar", tar_of(_menus(draw)), since="2021-12-31", days=1)
    tree.add(
        "archive/prices.csv.gz",
        gzip_of(lines([f"{good};{120 + draw.below(400)}" for good in GOODS])),
        since="2021-12-30",
        days=1,
    )
    tree.add("todo.md", _todo(), since="2023-05-05", days=1)
    return tree.files


CREW = ["Amara", "Bjorn", "Chidi", "Dalia", "Enzo", "Freya"]


def _orders(draw: Draw, n: int) -> str:
    rows = ["order;buyer;item;pieces;cents;paid"]
    for k in range(n):
        paid = "no" if draw.below(4) == 0 else "yes"
        rows.append(
            f"{3000 + k};{draw.one(BUYERS)};{draw.one(GOODS)};{2 + draw.below(60)};{150 + draw.below(900)};{paid}"
        )
    return lines(rows)


def _recipe(draw: Draw, name: str) -> str:
    parts = [f"{25 * (1 + draw.below(30))} g {one}" for one in FLOURS if draw.below(2)]
    steps = [f"{draw.one(STEPS)} {5 * (1 + draw.below(12))} min." for _ in range(4 + draw.below(3))]
    return lines([f"# {name}", "", "INGREDIENTS", *parts, "", "METHOD", *steps, "# end"])


def _till(draw: Draw, n: int) -> str:
    kinds = ["sale", "sale", "sale", "Sale", "refund", "void", "presale"]
    return lines(
        [
            f"{7 + k // 3:02d}:{draw.below(60):02d} {draw.one(kinds)} {90 + draw.below(1500)} "
            f"{draw.one(['cash', 'card'])} till-{draw.one('ABC')}"
            for k in range(n)
        ]
    )


def _rota(draw: Draw) -> str:
    days = ["mon", "tue", "wed", "thu", "fri", "sat"]
    rows = [
        f"{name}\t{day}\t{draw.one(['early', 'late', 'night'])}\t{4 + draw.below(6)}"
        for name in CREW
        for day in days[draw.below(3) :]
    ]
    return lines(rows)


def _contacts(draw: Draw) -> str:
    roles = ["baker", "baker", "cashier", "driver", "apprentice baker"]
    return lines([f"{name}|{draw.one(roles)}|ext {200 + draw.below(80)}|floor {draw.below(3)}" for name in CREW])


def _oven(draw: Draw) -> str:
    return lines([
        "# settings of an oven", "[bake]", f"temp = {180 + 10 * draw.below(8)}",
        f"steam = {draw.one(['on', 'off'])}", "",
        "# do not touch max_temp", "[safety]", f"max_temp = {280 + 10 * draw.below(4)}",
        "door = locked # always", "", f"fan = {draw.one(['low', 'high'])}",
    ])  # fmt: skip


def _script(name: str) -> str:
    return lines(["#!/bin/sh", f"# {name} the shop", "set -e", f"echo {name} > /dev/null", "# TODO say when"])


def _captions(draw: Draw) -> str:
    views = [
        "morning",
        "queue",
        "window",
        "new sign",
        "old oven",
        "first loaf of the morning",
        "queue after queue",
        "queues again",
    ]
    return lines(
        [f"{draw.one(['Shop', 'shop', 'SHOP'])} {draw.one(views)}, {draw.one(['left', 'right'])}" for _ in range(16)]
    )


def _menus(draw: Draw) -> list[File]:
    tree = Tree("menus", 42)
    for season in ("lent", "midsummer", "harvest", "advent"):
        tree.add(
            f"{season}.txt", lines([f"{season} menu", *(draw.one(GOODS) for _ in range(4))]), since="2021-01-01", days=9
        )
    tree.add("advent.txt.old", "advent menu\nrusk\n", since="2020-01-01", days=9)
    tree.add("notes.md", "printed on thick paper\n", since="2021-02-01", days=9)
    return tree.files


def _todo() -> str:
    return lines([
        "# to do", "- [ ] order yeast", "- [x] clean oven 2", "- [ ] call the miller", "- [x] pay Amara",
        "- [ ] paint the sign", "- [x] count the trays", "", "# later", "- [ ] buy a second mixer",
    ])  # fmt: skip
