"""What is wrong with a task: its gold must run, do something, do the same again, and need each of its parts.

`python checking.py` checks all tasks for training and development in a sandbox, in about a minute.
"""

import re
import sys
from collections.abc import Hashable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1]))

from weakening import weaker  # noqa: E402

from iad_envs.bash.env import BashEnv  # noqa: E402
from iad_envs.bash.intercode_compat import arrives_as  # noqa: E402
from iad_envs.core import Token  # noqa: E402

SPLITS = ("train", "dev")
_RANKING = re.compile(r"(sort (?:-\S+ ?)+)(\S* ?)\| (head|tail) -n (\d+)$")
_ORDERS = re.compile(r"the stage sort$|[nr] of sort -(rn|n|r)$")
"""What only decides about an order: the published reward does not see it, and a single line has none."""
_OF_FOLDERS = re.compile(r"-size|-newer|%s")
_GUARDS = re.compile(r"-type f$")
"""With a size or a date, it keeps folders out, whose own depend on where and when they are unpacked."""


def complaints(env: BashEnv, task_id: str) -> list[str]:
    """Return what is wrong with a task, in words."""
    env.reset(options={"task_id": task_id})
    start = env.snapshot()
    gold: str = env.oracle(start)["reference"]["gold"]
    first = env.simulate(start, gold)
    again = env.simulate(start, f"{gold}\n")  # another text, so that it runs again
    facts, found = again.info["facts"], []
    if facts["exit_code"] or facts["complaint"]:
        found.append(f"exit code {facts['exit_code']}: {again.info['page']['output']:.200}")
    if not (again.info["page"]["output"] or facts["n_created"] or facts["n_changed"] or facts["n_deleted"]):
        found.append("nothing happens")
    if first.key != again.key or env.oracle(first.token)["progress"] != 1.0:
        found.append("the second time differs")
    if '"' in gold or arrives_as(gold) != ("/bin/bash", "-c", gold):
        found.append("its quotes")
    return [*found, *_not_needed(env, start, gold, again.key), *_tied(env, start, gold)]


def _not_needed(env: BashEnv, start: Token, gold: str, key: Hashable) -> Iterator[str]:
    """Yield the weaker commands with the same result, or with the whole published reward."""
    for name, command in [("anything", "true"), *weaker(gold)]:
        if _ORDERS.search(name) or (_GUARDS.search(name) and _OF_FOLDERS.search(gold)):
            continue
        outcome = env.simulate(start, command)
        if outcome.key == key:
            yield f"the same without {name}: {command}"
        elif env.oracle(outcome.token)["progress"] == 1.0:
            yield f"full reward without {name}: {command}"


def _tied(env: BashEnv, start: Token, gold: str) -> Iterator[str]:
    """Complain where the line after the last one of a ranking has the same rank."""
    found = _RANKING.search(gold)
    if found:
        sort, file, side, n = found.groups()
        more = int(n) + 1
        ranks = f"{sort}{file}| {side} -n {more} | {sort}-u | wc -l"
        if env.simulate(start, gold[: found.start()] + ranks).info["page"]["output"] != f"{more}\n":
            yield "a tie at its end"


def main() -> int:
    """Print what is wrong; return 1 if anything is."""
    wrong = 0
    for split in SPLITS:
        env = BashEnv(data_dir=HERE, split=split)
        for task_id in env.task_ids:
            for complaint in complaints(env, task_id):
                wrong += 1
                print(f"{task_id}: {complaint}")
        wrong += len(env.excluded)
        env.close()
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
