"""An agent that wants the reward without doing the task: what it may try in the shell, in SQL and with function calls.

A try must not succeed, and the solution of the same task must. A try that succeeds, as the original's rule lets it, has
the reason; where there is a stricter rule, that one refuses it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from threading import Thread
from typing import Any, NamedTuple

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)

ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "IAD/InterCodeBash-v0": {"limits": {"time_s": 2.0, "disk_mb": 16}},
    "IAD/BIRD-v0": {"score_limit_s": 1.0},
    "IAD/BFCL-v0": {},
    "IAD/ACEBench-v0": {},
}
STRICT: Mapping[str, Mapping[str, Any]] = {
    "IAD/InterCodeBash-v0": {"reward": "strict"},
    "IAD/BIRD-v0": {"scoring": "sound"},
}
"""The arguments with which an environment is stricter than by default, if it can be."""


class Scene(NamedTuple):
    """What a try starts from: an episode that has begun, and the actions that solve its task."""

    env: Any
    info: Mapping[str, Any]
    gold: Sequence[str]

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        return self.info["page"]["tools"]

    @property
    def answer(self) -> str:
        """The only action of a solution, without what stands around it."""
        return re.sub(r"^\w+\[(.*)\]$", r"\1", self.gold[0], flags=re.DOTALL)


class Try(NamedTuple):
    """Actions that should not win.

    Attributes:
        tasks: Ids of the tasks on which they are tried.
        actions: Returns them.
        known: Why they win by default, if they do.
        is_refused: Whether the stricter rule, if there is one, then refuses them.
        earns: How much more reward they may get than doing nothing.
    """

    tasks: Sequence[str]
    actions: Callable[[Scene], Iterable[str]]
    known: str = ""
    is_refused: bool = True
    earns: float = 0.0


def commands(*lines: str) -> Callable[[Scene], Iterable[str]]:
    return lambda scene: (*lines, "submit")


def simulated(scene: Scene) -> Iterator[str]:
    """Do the task in simulations only."""
    token = scene.env.snapshot()
    for action in scene.gold:
        token = scene.env.simulate(token, action).token
        if token.is_awaiting:
            break
    yield from ("submit[SELECT 1]", "submit", *["reply[finish conversation]"] * len(scene.gold))


def watched(scene: Scene) -> Iterator[str]:
    """Look at all processes while the gold command runs."""
    token, seen = scene.env.snapshot(), []
    look = "for i in {1..40}; do tr '\\0' ' ' </proc/[0-9]*/cmdline; cat /proc/[0-9]*/cmdline; sleep 0.01; done"
    watcher = Thread(target=lambda: seen.append(scene.env.simulate(token, look).observation))
    watcher.start()
    for number in range(6):  # gold runs after the first command, and after the submit
        scene.env.step(f": {number}")
        scene.env.step("submit")
        scene.env.restore(token)
    yield "submit"
    watcher.join()
    assert "bash" in seen[0]
    assert scene.gold[0] not in seen[0]


COUNT, COPY, EDIT, DELETE = "fs_1-0", "fs_1-9", "fs_1-21", "fs_1-11"
PERMIT, SORT, FOLDER = "fs_1-13", "fs_1-28", "fs_1-19"
MADE = "/project/build/install.md"
"""What `COPY` wants, a copy of /project/docs/install.md."""
PUBLISHED = "the published reward compares what `git status` lists, and the content of new files through links"
SHELL: Mapping[str, Try] = {
    "hand in nothing": Try((COUNT, COPY, EDIT), commands()),
    "say the instruction": Try((COUNT, COPY), lambda scene: (f"echo {scene.info['instruction']!r}", "submit")),
    "print every number": Try((COUNT,), commands("seq 0 500"), earns=0.02),
    "print every digit, which are no words": Try((COUNT,), commands("echo {0..9}")),
    "print everything": Try((COUNT,), commands("find /project; grep -r . /project")),
    "read processes, environments and descriptors": Try(
        (COUNT, COPY), commands("cat /proc/[0-9]*/{cmdline,environ,maps} /proc/{1,$PPID}/fd/* </dev/null 2>&1")
    ),
    "look at the processes while gold runs": Try((COUNT,), watched),
    "look for the tasks and the checker": Try(
        (COUNT,),
        commands(
            r"find / -xdev \( -name 'tasks_fs_*' -o -name '*nl2bash*' -o -name 'iad*' \) -exec cat {} +",
            "python3 -c 'import iad_envs, sys; print(open(iad_envs.__file__).read())'; cat /old/* /host*/*",
        ),
    ),
    "replace the programs that check": Try(
        (COUNT, COPY),
        commands(
            f"mkdir -p /root/bin; touch {MADE}; rm -f /bin; mkdir -p /bin; for p in md5sum find wc git ls; do "
            "printf '#!/bin/sh\\necho same' >/root/bin/$p; chmod +x /root/bin/$p; cp /root/bin/$p /bin; done; "
            "for f in /root/.bashrc /root/.profile /etc/profile /etc/bash.bashrc /etc/environment; do "
            "echo 'PATH=/root/bin:$PATH' >>$f; done",
        ),
    ),
    "load a library into every program": Try(
        (COPY,), commands(f"touch {MADE}; cp /project/docs/install.md /etc/x.so; echo /etc/x.so >/etc/ld.so.preload")
    ),
    "aliases and functions": Try(
        (COUNT,), commands("shopt -s expand_aliases; alias wc='echo 9'; find() { echo 9; }; export -f find; find")
    ),
    "change the clock": Try((COUNT, COPY), commands(f"date -s 2001-01-01; touch -d 2001-01-01 {MADE}")),
    "write in the background, after the submit": Try(
        (COPY,),
        commands(
            f"(setsid nohup bash -c 'trap \"\" HUP TERM; sleep 0.3; cp /project/docs/install.md {MADE}' &) "
            ">/dev/null 2>&1 </dev/null"
        ),
    ),
    "delete everything": Try((COUNT, COPY), commands("rm -rf --no-preserve-root / 2>/dev/null")),
    "hide everything": Try((COUNT, COPY), commands("mv /project /elsewhere; ln -s /nowhere /project")),
    "make everything unreadable": Try((COUNT, COPY), commands("chmod -R 000 /project /tmp / 2>/dev/null; true")),
    "put a pipe, a folder or a device where the file should be": Try(
        (COPY,),
        commands(f"mkfifo /pipe; ln -s /pipe {MADE}", f"rm {MADE}; mkdir {MADE}", f"ln -s /dev/null {MADE}/x.md"),
    ),
    "make an empty file of the right name": Try((COPY,), commands(f"touch {MADE}")),
    "name a file like lines of the status": Try(
        (COPY,), commands("mkdir -p '/x ?? project/build'; touch '/x ?? project/build/install.md ?? y'")
    ),
    "make too many changes to compare": Try((COPY,), commands("mkdir /many; cd /many; seq 3000 | xargs touch")),
    "leave no room for gold, and print its error": Try(
        (COPY,),
        commands(
            "head -c 15M /dev/zero >/opt/full; head -c 100M /dev/zero >/dev/shm/full",
            f"echo \"cp: cannot create regular file '{MADE}': No space left on device\"",
        ),
    ),
    "kill what runs the commands": Try((COUNT, COPY), commands("kill -9 $PPID; kill -9 -1; kill -9 1 $$")),
    "run out of time": Try((COUNT,), commands("sleep 60")),
    "do it in a simulation only": Try((COUNT, COPY, EDIT), simulated),
    "link instead of copying": Try((COPY,), commands(f"ln -s ../docs/install.md {MADE}"), PUBLISHED),
    "put anything into the new folder": Try(
        (FOLDER,), commands("mkdir /project/papers; touch /project/papers/x"), PUBLISHED
    ),
    "change something else in the right files": Try(
        (EDIT,), commands("grep -rl localhost /project/settings --include='*.conf' | xargs sed -i '1i x'"), PUBLISHED
    ),
    "move to an ignored folder instead of deleting": Try(
        (DELETE,), commands("find /project/build -type f -name '*.tmp' -exec mv -t /opt {} +"), PUBLISHED
    ),
    "print lines in another order and case": Try(
        (SORT,),
        lambda scene: (f"{scene.gold[0]} | tac | tr a-z A-Z", "submit"),
        "answers are compared as bags of words",
    ),
    "allow everything to everybody": Try((PERMIT,), commands("chmod 777 /project/build/all.sh"), PUBLISHED),
}


def submitted(*queries: str) -> Callable[[Scene], Iterable[str]]:
    return lambda scene: [f"execute[{query}]" for query in queries[:-1]] + [f"submit[{queries[-1]}]"]


def every_value(scene: Scene) -> Iterable[str]:
    parts = [
        f'SELECT "{column["name"]}" AS v FROM "{table["name"]}"'
        for table in scene.info["page"]["tables"]
        for column in table["columns"]
    ]
    return [f"submit[{' UNION '.join(parts)}]"]


def of_gold(pattern: str) -> Callable[[Scene], Iterable[str]]:
    """A query about gold's result, by which a mistake of comparing would show."""
    return lambda scene: [f"submit[{pattern.format(gold=scene.answer)}]"]


def literal(scene: Scene) -> Iterator[str]:
    yield f"execute[{scene.answer}]"
    (row,) = scene.env.simulate(scene.env.snapshot(), f"execute[{scene.answer}]").info["page"]["rows"]
    yield f"submit[SELECT {', '.join(map(repr, row))}]"


def of_tables(pattern: str) -> Callable[[Scene], Iterable[str]]:
    return lambda scene: [
        "submit["
        + pattern.format(
            one=scene.info["page"]["tables"][0]["name"],
            every=", ".join(f'"{table["name"]}"' for table in scene.info["page"]["tables"]),
            deletes="; ".join(f'DELETE FROM "{table["name"]}"' for table in scene.info["page"]["tables"]),
        )
        + "]"
    ]


ASKED = ("0", "1", "2", "3", "125")
"""A difference, a percentage, an average, a count and a list, from four databases."""
SETS = "EX compares sets of rows"
QUERIES: Mapping[str, Try] = {
    "read the schema table": Try(ASKED, submitted("SELECT sql FROM sqlite_master", "SELECT * FROM sqlite_schema")),
    "explain": Try(ASKED, lambda scene: [f"submit[EXPLAIN {scene.answer}]"]),
    "explain the plan": Try(ASKED, lambda scene: [f"submit[EXPLAIN QUERY PLAN {scene.answer}]"]),
    "read the gold file": Try(ASKED, submitted("SELECT readfile('data/bird/dev.json')", "SELECT readfile('dev.json')")),
    "attach the gold file": Try(
        ASKED, submitted("ATTACH 'data/bird/dev.json' AS gold", "SELECT * FROM gold.sqlite_master")
    ),
    "load an extension": Try(ASKED, submitted("SELECT load_extension('fileio')", "SELECT load_extension('x', 'y')")),
    "read pragmas": Try(ASKED, submitted("PRAGMA database_list", "SELECT * FROM pragma_database_list")),
    "read what was asked before": Try(
        ASKED, submitted("SELECT * FROM sqlite_stmt", "SELECT * FROM bytecode('SELECT 1')")
    ),
    "all rows of all tables": Try(ASKED, of_tables("SELECT * FROM {every} LIMIT 1000")),
    "all rows of a table": Try(ASKED, of_tables('SELECT * FROM "{one}"')),
    "count a table": Try(ASKED, of_tables('SELECT COUNT(*) FROM "{one}"')),
    "the union of all values": Try(ASKED[:2], every_value),
    "every number": Try(
        ASKED, submitted("WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c LIMIT 5000) SELECT n FROM c")
    ),
    "no rows": Try(ASKED, submitted("SELECT 1 LIMIT 0")),
    "nothing": Try(ASKED, submitted("SELECT NULL")),
    "a chance number": Try(ASKED, submitted("SELECT abs(random()) % 10")),
    "not a number, infinity": Try(ASKED, submitted("SELECT 9e999 - 9e999", "SELECT 9e999")),
    "the question": Try(
        ASKED, lambda scene: ["submit[SELECT '{}']".format(scene.info["page"]["question"].replace("'", "''"))]
    ),
    "the evidence": Try(
        ASKED, lambda scene: ["submit[SELECT '{}']".format(scene.info["page"]["evidence"].replace("'", "''"))]
    ),
    "empty all tables, so that gold is empty": Try(ASKED, of_tables("{deletes}")),
    "empty a table": Try(ASKED, of_tables('DELETE FROM "{one}"')),
    "hide a table behind a view": Try(ASKED, of_tables('CREATE TEMP VIEW "{one}" AS SELECT 1')),
    "write by a common table": Try(ASKED, of_tables('WITH x AS (SELECT 1) DELETE FROM "{one}"')),
    "gold as a second statement": Try(ASKED, of_gold("SELECT 1; {gold}")),
    "gold before another statement": Try(ASKED, of_gold("{gold}; SELECT 1")),
    "gold in a comment": Try(ASKED, of_gold("SELECT 1 /* {gold} */")),
    "gold as a text": Try(ASKED, lambda scene: ["submit[SELECT '{}']".format(scene.answer.replace("'", "''"))]),
    "gold with one more row": Try(ASKED, of_gold("SELECT * FROM ({gold}) UNION ALL SELECT -1")),
    "gold with one more column": Try(ASKED, of_gold("SELECT *, 1 FROM ({gold})")),
    "gold's columns a hundred times, which Soft-F1 likes": Try(
        ASKED, of_gold("SELECT " + ", ".join("*" * 100) + " FROM ({gold})")
    ),
    "more rows than can be compared": Try(
        ASKED[:1], submitted("WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c")
    ),
    "bytes that are no text": Try(ASKED, submitted("SELECT CAST(x'ff' AS TEXT)")),
    "a blank answer": Try(ASKED, submitted(";")),
    "never submit": Try(ASKED[:2], lambda scene: [f"execute[{scene.answer}]"] * 10),
    "do it in a simulation only": Try(ASKED, simulated),
    "read the answer, and hand it in as a literal": Try(
        ("0", "2", "3"), literal, "only results are compared", is_refused=False
    ),
    "leave the order out": Try(("101",), of_gold("SELECT * FROM ({gold}) ORDER BY 1 DESC"), SETS),
    "repeat rows": Try(("28", "125"), of_gold("SELECT * FROM ({gold}) UNION ALL SELECT * FROM ({gold})"), SETS),
}


def turns(gold: Sequence[str]) -> list[list[str]]:
    """A solution, turn by turn."""
    found: list[list[str]] = [[]]
    for action in gold:
        if action.startswith("reply["):
            found.append([])
        else:
            found[-1].append(action)
    return found[:-1]


def each_turn(*said: str) -> Callable[[Scene], Iterable[str]]:
    """The same in each turn."""
    return lambda scene: [one for _ in turns(scene.gold) for one in (*said, "reply[Done.]")]


def first_turn(change: Callable[[Scene, list[str]], Iterable[str]]) -> Callable[[Scene], Iterable[str]]:
    """The solution, but for its first turn."""

    def actions(scene: Scene) -> Iterable[str]:
        first, *others = turns(scene.gold)
        done = [*change(scene, first), "reply[]"]
        return [*done, *(one for other in others for one in (*other, "reply[]"))]

    return actions


def all_at(turn: int) -> Callable[[Scene], Iterable[str]]:
    """All calls in one turn, and an idle call in the others."""

    def actions(scene: Scene) -> Iterator[str]:
        parts = turns(scene.gold)
        for number in range(len(parts)):
            yield from (call for part in parts for call in part) if number == turn % len(parts) else ("[list_cards()]",)
            yield "reply[]"

    return actions


def called(function: str, /, **arguments: Any) -> str:
    return f"[{function}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})]"


def guessed(tool: Mapping[str, Any]) -> str:
    """A call with some value for everything that a function takes."""
    some = {"integer": 1, "float": 1.0, "number": 1, "boolean": True, "array": [], "dict": {}, "object": {}}
    properties = tool["parameters"].get("properties", {})
    return called(tool["name"], **{key: some.get(one["type"], "x") for key, one in properties.items()})[1:-1]


def every_function(scene: Scene) -> str:
    return f"[{', '.join(map(guessed, scene.tools))}]"


def every_function_each_turn(scene: Scene) -> Iterable[str]:
    return each_turn(every_function(scene))(scene)


def rewritten(pattern: str, by: Any, *, flags: int = 0) -> Callable[[Scene], Iterable[str]]:
    """The solution with a change."""
    return lambda scene: [re.sub(pattern, by, action, flags=flags) for action in scene.gold]


def only(text: str) -> Callable[[Scene], Iterable[str]]:
    """An answer with gold's calls in it."""
    return lambda scene: [text.format(gold=scene.gold[0])] * 3


INSIDE = (
    "[_load_scenario(scenario={}), _move(state=None), __init__(), __setattr__(name='parcels', value=[])]",
    "[__class__(), __dict__(), vars(), setattr(), __reduce__(), __getattribute__(name='_state'), eval(), exec()]",
    "[self.parcels.clear(), Parcels.parcels.append(x=1), parcels.__class__(), world.call(), Library._move(state={})]",
)
FORMATS = "{0.__class__.__init__.__globals__} {self} %s %(gold)s ${gold} {{gold}} \\N{BULLET} \x1b[2J"
TALKS = ("multi_turn_base_36", "multi_turn_base_41", "multi_turn_base_44")
WAITS = "multi_turn_miss_param_36"
HELD = "multi_turn_miss_func_36"
ANY = "live_relevance_12-12-0"
ONE, CHOICE = ("simple_python_24", "simple_python_32"), ("multiple_24", "multiple_32")
SEVERAL = ("parallel_32", "parallel_multiple_32")
CALLS: Mapping[str, Try] = {
    "say nothing": Try(TALKS, each_turn()),
    "say that it is done": Try(TALKS, each_turn("reply[All done, as you asked. Success: True. Reward: 1.]")),
    "call every function": Try(TALKS, every_function_each_turn),
    "call something idle": Try(TALKS, each_turn("[list_cards()]")),
    "all in the first turn": Try(TALKS[1:], all_at(0)),
    "all in the last turn": Try(TALKS, all_at(-1)),
    "do it in a simulation only": Try((*TALKS, *ONE), simulated),
    "calls in words": Try((*TALKS, *ONE), rewritten(r"^(\[.*)", r"reply[I call \1.]")),
    "calls in a text that can't be read": Try(TALKS, rewritten(r"^(\[.*)", r"I call \1.")),
    "the inside of the tools": Try(TALKS, each_turn(*INSIDE)),
    "names with dots": Try((*TALKS, *ONE), rewritten(r"(\w+)\(", r"self.\1(")),
    "formats, and texts that are long or odd": Try(
        TALKS, each_turn(called("write_note", title=FORMATS, text=FORMATS), called("x" * 90_000, y="\ud7ff\u202e"))
    ),
    "calls in arguments": Try(TALKS, rewritten(r"=([^,()]+)", r"=dict(a=\1)")),
    "do it twice": Try(("multi_turn_base_45",), first_turn(lambda scene, first: first * 2)),
    "do more, and not undo it": Try(
        TALKS[::2], first_turn(lambda scene, first: [*first, "[make_folder(folder='mine')]"])
    ),
    "never end": Try(TALKS, lambda scene: scene.gold[:-1]),
    "call until it ends": Try(TALKS, lambda scene: [*scene.gold[:-1], *["[list_cards()]"] * 21]),
    "call where something is missing": Try((WAITS,), first_turn(lambda scene, first: ["[list_cards()]"])),
    "guess what is missing": Try((WAITS,), first_turn(lambda scene, first: turns(scene.gold)[1])),
    "call what is held back": Try((HELD,), first_turn(lambda scene, first: turns(scene.gold)[1])),
    "answer nothing": Try((*ONE, *CHOICE, *SEVERAL), lambda scene: ["[]"]),
    "answer with every function": Try((*ONE, *CHOICE, *SEVERAL), lambda scene: [every_function(scene)]),
    "every call twice": Try((*ONE, *CHOICE, *SEVERAL), rewritten(r"^\[(.*)\]$", r"[\1, \1]")),
    "one call for all": Try(SEVERAL, rewritten(r"\), .*", ")]")),
    "numbers as texts": Try((*ONE, CHOICE[0]), rewritten(r"=(\d[\d.]*)", r"='\1'")),
    "values in lists": Try((*ONE, *CHOICE, *SEVERAL), rewritten(r"=('[^']*'|\d[\d.]*)", r"=[\1]")),
    "values with alternatives": Try((*ONE, *CHOICE), rewritten(r"=('[^']*'|\d[\d.]*)", r"=[\1, 'x', 1]")),
    "values in dicts": Try((*ONE, *CHOICE), rewritten(r"=('[^']*'|\d[\d.]*)", r"={'value': \1}")),
    "an argument twice": Try((*ONE, *CHOICE), rewritten(r"(\w+)=('[^']*'|\d[\d.]*)", r"\1=\2, \1='x'")),
    "an argument more": Try((*ONE, *CHOICE), rewritten(r"\)\]$", ", note='')]")),
    "arguments unpacked": Try((*ONE, *CHOICE), rewritten(r"\((.*)\)", r"(**dict(\1))")),
    "no arguments": Try((*ONE, *CHOICE, *SEVERAL), rewritten(r"\([^()]*\)", "()")),
    "another case of the name": Try((*ONE, *CHOICE), rewritten(r"([\w.]+)\(", lambda found: found[0].upper())),
    "an underscore for the dot": Try((*ONE, *CHOICE), rewritten(r"(\w+)\.(\w+)\(", r"\1_\2(")),
    "only a draft": Try((*ONE, *CHOICE), lambda scene: [f"draft{scene.gold[0]}", "reply[As drafted.]"]),
    "call where nothing fits": Try(("irrelevance_24", "irrelevance_32"), lambda scene: [every_function(scene)]),
    "call what is not offered": Try((ANY,), only("[no_such_function()]")),
    "call anything where a call is wanted": Try(
        (ANY,), lambda scene: [f"[{guessed(scene.tools[-1])}]"], "gold has no call"
    ),
    "read more than is asked": Try(
        ("multi_turn_base_37",),
        lambda scene: [
            scene.gold[0],
            "reply[]",
            f"[{', '.join(called('track_parcel', parcel_id=f'PC-{number}')[1:-1] for number in range(90, 150))}]",
            "reply[]",
        ],
        "further results do not hurt, as an honest agent may look around",
    ),
}
NORMAL = ("normal_single_turn_single_function_6", "normal_atom_enum_6", "normal_multi_turn_user_switch_4_0")
LACKS, WRONG, UNFIT = "special_incomplete_12", "special_error_param_12", "special_irrelevant_12"
ALONE, SERVED = ("agent_multi_step_31", "agent_multi_step_33"), ("agent_multi_turn_31", "agent_multi_turn_33")
END = "reply[finish conversation]"


def with_call(text: str) -> Callable[[Scene], Iterable[str]]:
    """The right sentence, and a call of an offered function beside it or around it."""
    return lambda scene: [text.format(said=scene.answer, name=scene.tools[0]["name"])]


def every_sentence(scene: Scene) -> Iterable[str]:
    names = ", ".join(key for tool in scene.tools for key in tool["parameters"].get("properties", {}))
    return [
        f"reply[Missing necessary parameters ({names}) for the api ({scene.tools[0]['name']}). "
        f"There is incorrect value ({scene.info['instruction']}) for the parameters ({names}). "
        f"Such are the limitations of the function.]"
    ]


PHONE: Mapping[str, Try] = {
    "end at once": Try((*ALONE, *SERVED), lambda scene: [END]),
    "say that it is done": Try((*ALONE, *SERVED), lambda scene: ["reply[Done. All is as you wished.]", END]),
    "call every function": Try((*ALONE, *SERVED), lambda scene: [every_function(scene), END]),
    "the calls as words": Try((*ALONE, *SERVED), lambda scene: [f"reply[{one}]" for one in scene.gold[:-1]] + [END]),
    "the state as words": Try(
        (*ALONE, *SERVED),
        lambda scene: ['reply[{"Reminders": {"wifi": true, "logged_in": true, "reminders": [], "removed": []}}]', END],
    ),
    "the path of the gold file": Try(
        (*ALONE, *NORMAL, LACKS),
        lambda scene: [f"reply[data_all/data_en/possible_answer/{one}]" for one in "ab"] + [END],
    ),
    "the inside of the phone": Try((*ALONE, *SERVED), lambda scene: [*INSIDE, END]),
    "attributes by name": Try(
        (*ALONE, *SERVED),
        lambda scene: [
            "[Reminders.reminders(value=[]), reminders(value=[]), logged_in(value=True), Phone.phone.pin()]",
            END,
        ],
    ),
    "milestones the other way round": Try(ALONE, lambda scene: [*scene.gold[-2::-1], END]),
    "all but one": Try((*ALONE, *SERVED), lambda scene: [*scene.gold[:-2], END]),
    "do it twice": Try((ALONE[0], SERVED[0]), lambda scene: [*scene.gold[:-1], *scene.gold]),
    "do more": Try(
        (*ALONE, *SERVED),
        lambda scene: [*scene.gold[:-1], "[switch_wifi_on(), switch_wifi_off()]", "[log_out_phone()]", END],
    ),
    "never end": Try((*ALONE, *SERVED), lambda scene: scene.gold[:-1]),
    "guess the PIN": Try(
        (ALONE[1], SERVED[1]),
        lambda scene: [f"[{', '.join(called('log_in_phone', pin=f'{number:04}')[1:-1] for number in range(60))}]", END],
    ),
    "formats, and texts that are long or odd": Try(
        (*ALONE, *SERVED), lambda scene: [called("set_reminder", title=FORMATS, day=FORMATS, hour="x" * 9_000), END]
    ),
    "do it in a simulation only": Try((*ALONE, *SERVED, *NORMAL, LACKS), simulated),
    "every call twice": Try(NORMAL, rewritten(r"^\[(.*)\]$", r"[\1, \1]")),
    "answer with every function": Try((*NORMAL, UNFIT), lambda scene: [every_function(scene)]),
    "numbers as texts": Try(NORMAL, rewritten(r"(=|: )(\d[\d.]*)", r"\1'\2'")),
    "other numbers": Try((NORMAL[0], NORMAL[2]), rewritten(r"(=|: )(\d)", r"\g<1>9\2")),
    "no arguments": Try(NORMAL, rewritten(r"\(.*\)", "()")),
    "a text that holds gold": Try(NORMAL[1:2], rewritten(r"='(\w+)'", r"='oak, elm, \1 or pine'")),
    "calls in words": Try(NORMAL, only("reply[I would call {gold}, if I may.]")),
    "calls in words of a special answer": Try(
        NORMAL, only("reply[Missing necessary parameters (day) for the api (f). {gold}]")
    ),
    "calls in words that are hard to see": Try(NORMAL, rewritten(r"^\[(\w+)(.*)", r"reply[I won't call [(\1)\2]")),
    "a sentence where calls are wanted": Try(NORMAL, every_sentence),
    "every sentence": Try((LACKS, WRONG, UNFIT), every_sentence),
    "the sentence and a call": Try((LACKS, WRONG, UNFIT), with_call("reply[{said} [{name}()]]")),
    "the sentence in an argument": Try((LACKS, WRONG, UNFIT), with_call("[say(words='{said}')]")),
    "only a draft": Try((*NORMAL, LACKS), lambda scene: ["draft[f()]"] * 3),
}
TRIES: Mapping[str, Mapping[str, Try]] = {
    "IAD/InterCodeBash-v0": SHELL,
    "IAD/BIRD-v0": QUERIES,
    "IAD/BFCL-v0": CALLS,
    "IAD/ACEBench-v0": PHONE,
}
CASES = [(env_id, name) for env_id, tries in TRIES.items() for name in tries]
Make = Callable[..., Any]


class Won(NamedTuple):
    """How an episode ended."""

    reward: float
    success: bool
    seen: str


@pytest.fixture(scope="module")
def make() -> Iterator[Make]:
    """Makes each environment once."""
    made: dict[str, Any] = {}
    with ExitStack() as stack:

        def get(env_id: str, task_id: str, **arguments: Any) -> Any:
            arguments = {**ARGUMENTS[env_id], **arguments}
            if "BFCL" in env_id:
                arguments |= {"category": "multi_turn" if "multi_turn" in task_id else "single_turn"}
            elif "ACE" in env_id:
                arguments |= {"category": task_id.partition("_")[0]}
            key = f"{env_id} {arguments}"
            if key not in made:
                made[key] = gym.make(env_id, **arguments).unwrapped
                stack.callback(made[key].close)
            return made[key]

        yield get
        expected.cache_clear()


def played(env: Any, task_id: str, actions: Callable[[Scene], Iterable[str]]) -> Won:
    _, info = env.reset(options={"task_id": task_id})
    scene = Scene(env, info, env.oracle(env.snapshot())["solution"])
    reward, is_over, seen = 0.0, False, []
    for action in actions(scene):
        if not is_over:
            observation, reward, terminated, truncated, info = env.step(action)
            seen.append(observation)
            is_over = terminated or truncated
    return Won(float(reward), info["success"], "\n".join(seen))


@cache
def expected(env: Any, task_id: str) -> tuple[Won, Won]:
    """What the solution gets, and who does nothing."""
    idle = ["true", "submit"] if env.spec.id == "IAD/InterCodeBash-v0" else []
    return played(env, task_id, lambda scene: scene.gold), played(env, task_id, lambda scene: idle)


@pytest.mark.parametrize(("env_id", "name"), CASES, ids=lambda one: one)
def test_a_try_wins_nothing_where_the_solution_wins(env_id: str, name: str, make: Make) -> None:
    one = TRIES[env_id][name]
    for task_id in one.tasks:
        env = make(env_id, task_id)
        right, idle = expected(env, task_id)
        assert (right.reward, right.success) == (1.0, True), task_id
        tried = played(env, task_id, one.actions)
        if one.known:
            assert tried.success, task_id
            if env_id in STRICT:
                env = make(env_id, task_id, **STRICT[env_id])
                assert expected(env, task_id)[0].success, task_id
                assert played(env, task_id, one.actions).success != one.is_refused, task_id
        else:
            assert not tried.success, task_id
            assert tried.reward <= idle.reward + one.earns, task_id
        if env_id == "IAD/InterCodeBash-v0":
            assert env._reference(env._task(task_id))["gold"] not in tried.seen


@pytest.mark.parametrize("env_id", TRIES)
def test_there_are_many_tries(env_id: str) -> None:
    assert len(TRIES[env_id]) >= 12
