"""Builds candidates for `IAD/InterCodeBash-v0` by which its verifiers are measured, and runs them.

An attempt is a sequence of commands, after which the agent submits. Some attempts come from the rule-based agent at
several temperatures. Others are the gold command of the task with an error of a known kind, or its answer in another
form. Gold is used here only, to build attempts and to label them; no verifier sees it.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from iad_envs.bash.policy.agent import BashAgent
from iad_envs.bash.tasks import BashTask
from iad_policy import IADPolicyWrapper
from iad_policy.types import Candidate, PublicInfo, State, Turn
from iad_policy.types.hashing import seed_of

SUBMIT = "submit"
TEMPERATURES = (0.3, 1.0, 2.0)
N_SAMPLES = 2
"""Attempts of the rule-based agent per task and temperature."""
_OPTION = re.compile(r"(?<=\s)--?[A-Za-z][\w-]*")
_NUMBER = re.compile(r"(?<![\w./-])[+-]?\d+(?![\w./])")
_PATH = re.compile(r"(?<![\w.])/[\w.+-]+(?:/[\w.+-]+)*")
_ENDING = re.compile(r"(?<=\*\.)\w+")
_CONDITION = re.compile(r" (?:! )?-i?(?:name|type|size|mtime|atime|perm|newermt) +('[^']*'|\"[^\"]*\"|\S+)")


class Attempt(NamedTuple):
    """A sequence of commands for a task, after which the agent submits.

    Attributes:
        task_id: Id of the task.
        source: Where it comes from: `gold`, an agent, or a kind of error.
        commands: The commands.
    """

    task_id: str
    source: str
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt that was run.

    Attributes:
        attempt: The attempt.
        before: The state in which its last command was proposed.
        command: Its last command, with the preview.
        submit: The candidate that submits after it, with the preview.
        is_right: Whether it succeeds.
    """

    attempt: Attempt
    before: State
    command: Candidate
    submit: Candidate
    is_right: bool

    @property
    def after(self) -> State:
        """The state after the last command."""
        assert self.command.preview is not None
        return self.command.preview


def is_held_out(task_id: str) -> bool:
    """Return whether a task of data without splits is for reports only. The other half is for fitting."""
    return bool(blake2b(task_id.encode(), digest_size=8).digest()[0] % 2)


def tried(env: Any, attempts: Sequence[Attempt]) -> Iterator[Tried]:
    """Run attempts in an environment."""
    for attempt in attempts:
        yield _tried(env, attempt)


def rule_based_attempts(env: Any, task_ids: Sequence[str]) -> list[Attempt]:
    """Return episodes of the rule-based agent at several temperatures, up to where it submits."""
    found = []
    for temperature in TEMPERATURES:
        for sample in range(N_SAMPLES):
            agent = BashAgent(temperature=temperature)
            with IADPolicyWrapper(agent, env, strategy="single", seed=sample) as policy:
                for task_id in task_ids:
                    found.append(Attempt(task_id, f"scripter {temperature:g}", _commands_of(policy, env, task_id)))
    return [attempt for attempt in dict.fromkeys(found) if attempt.commands]


def corrupted_attempts(tasks: Sequence[BashTask], n_per_kind: int = 2) -> list[Attempt]:
    """Return the gold command of each task, alone, in other forms, and with errors.

    Args:
        tasks: The tasks.
        n_per_kind: Maximum number of attempts of each kind per task.
    """
    found: dict[tuple[str, tuple[str, ...]], Attempt] = {}
    for task in tasks:
        rng = Random(seed_of("corrupted", task.task_id))
        others = [other for other in tasks if other.file_system == task.file_system and other != task]
        for source, build in KINDS.items():
            made = [commands for commands in build(task, others, rng) if all(map(str.strip, commands))]
            for commands in rng.sample(made, min(n_per_kind, len(made))):
                found.setdefault((task.task_id, commands), Attempt(task.task_id, source, commands))
    return list(found.values())


def recorded_attempts(file: Path, task_ids: Sequence[str]) -> list[Attempt]:
    """Return the attempts that a file records, those of the given tasks.

    Args:
        file: Lines of JSON, each with `task_id`, `source` and `commands`.
        task_ids: The tasks.
    """
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    kept = frozenset(task_ids)
    return [Attempt(row["task_id"], row["source"], tuple(row["commands"])) for row in rows if row["task_id"] in kept]


def _commands_of(policy: IADPolicyWrapper, env: Any, task_id: str) -> tuple[str, ...]:
    observation, info = env.reset(options={"task_id": task_id})
    commands: list[str] = []
    done = False
    while not done:
        action = policy.act(observation, info)
        if env.terminal(action):
            break
        commands.append(action)
        observation, _, terminated, truncated, info = env.step(action)
        done = terminated or truncated
    return tuple(commands)


def _tried(env: Any, attempt: Attempt) -> Tried:
    observation, info = env.reset(options={"task_id": attempt.task_id})
    gold = frozenset(env.GOLD_INFO)
    here = State(observation, PublicInfo(info, gold), steps_left=env.max_steps)
    for command in attempt.commands:
        before = here
        observation, _, _, _, info = env.step(command)
        here = _after(before, command, observation, PublicInfo(info, gold))
    outcome = env.simulate(env.snapshot(), SUBMIT)
    submitted = _after(here, SUBMIT, outcome.observation, PublicInfo(outcome.info, gold))
    info = env.step(SUBMIT)[4]
    return Tried(
        attempt,
        before,
        Candidate(attempt.commands[-1], key=attempt.commands[-1], preview=here),
        Candidate(SUBMIT, key=SUBMIT, preview=submitted, is_terminal=True),
        bool(info["success"]),
    )


def _after(before: State, action: str, observation: Any, info: PublicInfo) -> State:
    turn = Turn(before.observation, action, before.info)
    return State(observation, info, history=(*before.history, turn), steps_left=before.steps_left - 1)


_Build = Callable[[BashTask, Sequence[BashTask], Random], list[tuple[str, ...]]]


def _gold(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    return [(task.gold,)]


def _after_looking(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    looks = [f"ls -la {path}" for path in _PATH.findall(task.instruction)] + ["pwd", "ls /"]
    return [(look, task.gold) for look in looks]


def _after_an_error(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    return [(f"{task.gold} --wrong-option", task.gold), ("finds /", task.gold)]


def _same_answer(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    gold = task.gold
    return [(f"cd / && {gold}",), (f"{gold} 2>/dev/null",), (f"{{ {gold}; }} | cat",), (f"({gold})",)]


def _other_form(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    gold = task.gold
    return [
        (f'echo "The answer is: $({gold})"',),
        (f"{{ {gold}; }} | cat -n",),
        (f"{{ {gold}; }} | sed 's/^/Result: /'",),
        (f"{{ {gold}; }} | tr -d '\\n'",),
        (f"{{ {gold}; }} | sort -u",),
        (f"{{ {gold}; }} | head -n 1",),
    ]


def _looks_after(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    looks = [f"ls -la {path}" for path in _PATH.findall(task.instruction)] + ["echo done", "ls -la"]
    return [(task.gold, look) for look in looks]


def _to_a_file(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    return [(f"{{ {task.gold}; }} > /tmp/answer.txt",), (f"{{ {task.gold}; }} > result.txt; cat result.txt",)]


def _only_looks(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    paths = _PATH.findall(task.instruction) or ["/"]
    return [(look.format(path),) for path in paths for look in ("ls {}", "ls -la {}", "cat {}", "find {}")]


def _wrong_option(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    return [(_without(task.gold, found),) for found in _OPTION.finditer(task.gold)]


def _missing_condition(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    return [(_without(task.gold, found),) for found in _CONDITION.finditer(task.gold)]


def _wrong_number(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    made = []
    for found in _NUMBER.finditer(task.gold):
        sign, value = found[0].rstrip("0123456789"), int(found[0].lstrip("+-"))
        flipped = {"+": "-", "-": "+"}.get(sign, "")
        texts = (f"{sign}{value + 1}", f"{sign}{10 * value}", f"{flipped}{value}")
        made += [(_with(task.gold, found, text),) for text in texts if text != found[0]]
    return made


def _wrong_path(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    known = sorted({path for other in (task, *others) for path in _PATH.findall(other.gold)})
    made = []
    for found in _PATH.finditer(task.gold):
        near = [path for path in known if path != found[0]]
        texts = [found[0].rpartition("/")[0] or f"{found[0]}2", found[0] + "s", *rng.sample(near, min(2, len(near)))]
        made += [(_with(task.gold, found, text),) for text in texts]
    return made


def _wrong_ending(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    known = sorted({ending for other in (task, *others) for ending in _ENDING.findall(other.gold)} | {"md", "log"})
    return [
        (_with(task.gold, found, text),) for found in _ENDING.finditer(task.gold) for text in known if text != found[0]
    ]


def _missing_step(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    made = []
    for mark in (" | ", " && ", "; "):
        steps = task.gold.split(mark)
        made += [(mark.join(steps[:place] + steps[place + 1 :]),) for place in range(len(steps)) if len(steps) > 1]
    return made


def _counts_twice(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    """Add up the lines that `wc` prints for each file and for all together."""
    total = " | awk '{s += $1} END {print s}'"
    made = [re.sub(r"(-exec|xargs(?: -0)?) cat(.*?) \| wc -l", rf"\1 wc -l\2{total}", task.gold)]
    return [(text,) for text in made if text != task.gold]


def _loose_or(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    text = re.sub(r"\\\( | \\\)", "", task.gold)
    return [(text,)] if text != task.gold else []


def _cut_off(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    words = task.gold.split(" ")
    return [(" ".join(words[:-1]),), (task.gold.rstrip("'\""),)] if len(words) > 1 else []


def _misspelt(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    name, _, rest = task.gold.partition(" ")
    return [(f"{name[:-1]} {rest}",), (f"{task.gold} --wrong-option",)]


def _other_task(task: BashTask, others: Sequence[BashTask], rng: Random) -> list[tuple[str, ...]]:
    return [(other.gold,) for other in rng.sample(others, min(3, len(others)))]


def _without(text: str, found: re.Match[str]) -> str:
    return " ".join((text[: found.start()].rstrip() + text[found.end() :]).split(" "))


def _with(text: str, found: re.Match[str], new: str) -> str:
    return text[: found.start()] + new + text[found.end() :]


KINDS: Mapping[str, _Build] = {
    "gold": _gold,
    "gold after looking": _after_looking,
    "gold after an error": _after_an_error,
    "same answer": _same_answer,
    "other form": _other_form,
    "looks after gold": _looks_after,
    "to a file": _to_a_file,
    "only looks": _only_looks,
    "wrong option": _wrong_option,
    "missing condition": _missing_condition,
    "wrong number": _wrong_number,
    "wrong path": _wrong_path,
    "wrong ending": _wrong_ending,
    "missing step": _missing_step,
    "counts twice": _counts_twice,
    "loose or": _loose_or,
    "cut off": _cut_off,
    "misspelt": _misspelt,
    "other task": _other_task,
}
"""Kinds of constructed attempts. Whether an attempt is right is measured: some errors change nothing."""
