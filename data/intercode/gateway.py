"""The third start state for training, `/gateway`: a small server with requests, logins, units, rules, source, mail."""

from tree_parts import Draw, File, Tree, gzip_of, lines, tar_of

HOSTS = [f"10.4.{k}.{7 * k + 3}" for k in range(1, 8)]
PAGES = ["/start", "/shop", "/shop/cart", "/help", "/login", "/pics/a.png", "/feed.xml"]
PEOPLE = ["ilse", "jonas", "kofi", "lena", "mirko", "nadia", "oskar", "priya"]


def gateway() -> list[File]:
    """Return its files."""
    tree = Tree("gateway", 61)
    draw = tree.draw
    for k, day in enumerate(("mon", "tue", "wed", "thu", "fri")):
        tree.add(f"access/{day}.req", _requests(draw, 22 + draw.below(12)), since=f"2023-09-{4 + k:02d}", days=1)
    tree.add("access/old/june.req", _requests(draw, 12), since="2023-06-30", days=1)
    tree.add("access/old/july.req.gz", gzip_of(_requests(draw, 11)), since="2023-07-31", days=1)
    for k in (1, 2):
        tree.add(f"logins/host{k}.txt", _logins(draw, 20 + draw.below(6)), since="2023-08-01", days=40, mode=0o640)
    for name in ("proxy", "cache", "mailer", "cron"):
        tree.add(f"units/{name}.unit", _unit(draw, name), since="2021-06-01", days=700)
    tree.add("units/disabled/ftp.unit", _unit(draw, "ftp"), since="2016-06-01", days=100)
    tree.add("accounts.db", _accounts(draw), since="2023-07-01", days=30, mode=0o600)
    tree.add(
        "groups.db",
        lines([f"{name}:{'ops' if draw.below(2) else 'web'}" for name in [*PEOPLE[:5], "root", "backup"]]),
        since="2023-07-02",
        days=30,
    )
    for name in ("inner", "outer"):
        tree.add(
            f"rules/{name}.acl", _rules(draw), since="2022-01-15", days=300, mode=0o664 if name == "inner" else 0o644
        )
    for name in ("ring", "pool", "main", "frame"):
        tree.add(f"source/{name}.c", _source(draw, name), since="2020-01-01", days=1200)
    for name in ("ring", "pool"):
        tree.add(
            f"source/{name}.h",
            lines([f"#ifndef {name.upper()}_H", f"#define {name.upper()}_H", f"int {name}_open(void);", "#endif"]),
            since="2020-01-01",
            days=800,
        )
        tree.add(f"source/tests/{name}_test.c", _source(draw, f"{name}_test"), since="2021-01-01", days=800)
    tree.add(
        "source/Makefile",
        lines(["all:", "\tcc -o gate main.c ring.c", "clean:", "\trm -f gate"]),
        since="2020-02-01",
        days=9,
    )
    for name, size in (("core-17", 3300), ("core-21", 900), ("heap", 5100), ("stack", 1400)):
        tree.add(
            f"dumps/{name}.dmp",
            "&" * (size + draw.below(90)),
            since="2019-01-01",
            days=1700,
            mode=0o600 if name == "heap" else 0o644,
        )
    tree.add("dumps/core-30.dmp", "", since="2023-09-01", days=1)
    for name, mode in (("gatectl", 0o755), ("rotate", 0o750), ("restore", 0o644), ("probe", 0o777)):
        tree.add(
            f"commands/{name}",
            lines(["#!/bin/sh", f"# tool {name}", "exit 0"]),
            since="2021-03-01",
            days=400,
            mode=mode,
        )
    for k in range(1, 6):
        tree.add(f"queue/msg{k:03d}.eml", _mail(draw), since="2023-09-05", days=6)
    tree.add("queue/.index", "5 messages\n", since="2023-09-11", days=1)
    tree.add("queue/deferred/msg009.eml", _mail(draw), since="2023-08-11", days=3)
    tree.add("versions.txt", _versions(draw), since="2023-01-20", days=3)
    tree.add("backup/site.tar", tar_of(_site()), since="2023-02-20", days=3)
    return tree.files


def _requests(draw: Draw, n: int) -> str:
    hosts = [*HOSTS, HOSTS[1], HOSTS[1], HOSTS[4]]
    status = ["200", "200", "200", "200", "301", "404", "500"]
    return lines(
        [
            f"{draw.one(hosts)} {draw.one(['GET', 'GET', 'POST'])} {draw.one(PAGES)} {draw.one(status)} "
            f"{200 + draw.below(4000)}"
            for _ in range(n)
        ]
    )


def _logins(draw: Draw, n: int) -> str:
    states = ["ok", "ok", "failed", "Failed", "locked"]
    return lines(
        [f"Aug {1 + k:02d} {draw.one(states)} user={draw.one(PEOPLE)} from={draw.one(HOSTS)}" for k in range(n)]
    )


def _unit(draw: Draw, name: str) -> str:
    return lines([
        "[Unit]", f"Name={name}", f"; the {name} service", f"After={draw.one(['network', 'disk', 'mailer'])}", "",
        "[Run]", f"Start=/gateway/commands/{draw.one(['gatectl', 'probe'])} {name}",
        f"Restart={draw.one(['always', 'never'])}", f"RestartWait={5 + draw.below(50)}",
        f"User={draw.one(PEOPLE[:3])}", f"AutoRestart={draw.one(['yes', 'no'])}", "LogUser=nobody",
    ])  # fmt: skip


def _accounts(draw: Draw) -> str:
    shells = ["/bin/zsh", "/bin/bash", "/bin/false"]
    return lines(
        [
            f"{name}:{1000 + 7 * k}:{draw.one(['ops', 'web', 'mail'])}:{draw.one(shells)}"
            for k, name in enumerate(PEOPLE)
        ]
    )


def _rules(draw: Draw) -> str:
    rows = []
    for _ in range(12):
        rule = f"{draw.one(['allow', 'deny'])} {draw.one(HOSTS)} port {draw.one([22, 80, 443, 8443])}"
        rule += draw.one(["", "", " # for a week"])
        rows.append(draw.one(["", "# by hand", "# nightly", "! review"]) if draw.below(3) == 0 else rule)
    return lines(["# rules", *rows, ""])


def _source(draw: Draw, name: str) -> str:
    rows = ["#include <stdio.h>", "/* hints: n is small */", ""]
    for k in range(3 + draw.below(4)):
        note = draw.one(["", "", " /* TODO free it */", " /* todo */"])
        rows += [f"static int {name}_step{k}(int n)", "{", f"\treturn n * {2 + draw.below(40)};{note}", "}", ""]
    return lines(rows)


def _mail(draw: Draw) -> str:
    topics = ["invoice", "disk full", "lunch", "new key", "invoice again"]
    return lines(
        [
            f"From: {draw.one(PEOPLE)}",
            f"To: {draw.one(PEOPLE)}",
            f"Subject: {draw.one(topics)}",
            "",
            f"See you at {8 + draw.below(9)}.",
            "Regards",
            "From the desk",
        ]
    )


def _versions(draw: Draw) -> str:
    return lines(
        [
            f"lib{name} {1 + draw.below(4)}.{draw.below(20)}.{draw.below(9)} "
            f"{draw.one(['stable', 'unstable', 'testing'])}"
            for name in ("ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine")
        ]
    )


def _site() -> list[File]:
    tree = Tree("site", 62)
    for name in ("front", "about", "jobs"):
        tree.add(f"{name}.htm", lines([f"<title>{name}</title>", f"<p>All of {name}.</p>"]), since="2023-02-01", days=9)
    tree.add("jobs.htm.old", "<p>No jobs.</p>\n", since="2022-02-01", days=9)
    tree.add("theme/dark.style", "body black\n", since="2023-02-01", days=9)
    tree.add("theme/light.style", "body white\n", since="2023-02-01", days=9)
    return tree.files
