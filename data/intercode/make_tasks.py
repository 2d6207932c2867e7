"""Write the bundled shell tasks and their start states; `--check` compares instead. The same bytes every time.

What was written is checked by running it in a sandbox, see checking.py.
"""

import json
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from apiary import apiary
from bakery import bakery
from ferry import ferry
from gateway import gateway
from museum import museum
from tree_parts import File, tar_of
from trees import TREES, files_of

HERE = Path(__file__).parent
NEW_TREES: Mapping[str, Callable[[], list[File]]] = {
    "fs_4": bakery,
    "fs_5": ferry,
    "fs_6": gateway,
    "fs_7": museum,
    "fs_8": apiary,
}


class TaskSet(NamedTuple):
    """Families, what they are about, and the split of their tasks.

    Attributes:
        families: File with the kinds of tasks.
        instances: File with the values, by file system and family.
        split: Split of the tasks.
        last: Split of the last task of each family and file system that has more than one.
    """

    families: str
    instances: str
    split: str
    last: str


TASK_SETS = (
    TaskSet("families.toml", "instances.toml", "test", "tuning"),
    TaskSet("train_families.toml", "train_instances.toml", "train", "train"),
    TaskSet("dev_families.toml", "dev_instances.toml", "dev", "dev"),
)


def tasks_of(file_system: str, task_set: TaskSet) -> Iterator[dict[str, Any]]:
    """Yield a file system's tasks, easy and hard mixed as the families come."""
    families, instances = read(task_set.families), read(task_set.instances)[file_system]
    # Every file system begins with another way to say things.
    count = int(file_system[-1])
    for name, filled in instances.items():
        family = families[name]
        for position, values in enumerate(filled):
            says = family["says"][count % len(family["says"])]
            count += 1
            yield {
                "query": says.format(**values),
                "gold": family["gold"].format(**values),
                "difficulty": family["difficulty"],
                "split": task_set.last if position and position == len(filled) - 1 else task_set.split,
            }


def read(name: str) -> dict[str, Any]:
    """Return the tables of a file."""
    return tomllib.loads((HERE / name).read_text(encoding="utf-8"))


def outputs() -> Iterator[tuple[Path, bytes]]:
    """Yield every file with its content."""
    for task_set in TASK_SETS:
        for file_system in read(task_set.instances):
            rows = json.dumps(list(tasks_of(file_system, task_set)), indent=1, ensure_ascii=False) + "\n"
            yield HERE / f"tasks_{file_system}.json", rows.encode()
            files = files_of(file_system) if file_system in TREES else NEW_TREES[file_system]()
            yield HERE / f"{file_system}.tar", tar_of(files)


def main() -> int:
    """Write and run, or with `--check` compare. Return 1 where a task is wrong, or a file differs."""
    if "--check" in sys.argv[1:]:
        return int(any(path.read_bytes() != content for path, content in outputs()))
    for path, content in outputs():
        path.write_bytes(content)
    import checking  # needs the package and a sandbox, which comparing does not

    return checking.main()


if __name__ == "__main__":
    sys.exit(main())
