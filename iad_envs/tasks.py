"""The public part of an environment's tasks: instruction, split and difficulty, never the gold."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol


class TaskRecord(Protocol):
    """An environment's record of a task. Most records have more fields, including gold.

    Optional fields are `split` and `difficulty`, both texts. A record without a split is in every split.
    """

    @property
    def task_id(self) -> str:
        """Id of the task."""

    @property
    def instruction(self) -> str:
        """Instruction for the agent."""


class TaskInfo(NamedTuple):
    """The public part of a task.

    Attributes:
        instruction: Instruction for the agent.
        split: `train`, `dev`, `test` ..., or "" if the data has no splits.
        difficulty: `easy`, `hard` ..., or "" if the data does not specify it.
    """

    instruction: str
    split: str = ""
    difficulty: str = ""


class PublicTasks(Mapping[str, TaskInfo]):
    """The public part of many tasks, by id. A task is read on access, so listing the ids reads no instructions.

    Args:
        records: The environment's records, by id.
        split: Split of the records that do not specify one.
    """

    def __init__(self, records: Mapping[str, TaskRecord], split: str = "") -> None:
        self._records = records
        self._split = split

    def __getitem__(self, task_id: str) -> TaskInfo:
        record = self._records[task_id]
        return TaskInfo(record.instruction, split_of(record) or self._split, getattr(record, "difficulty", ""))

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)


def split_of(record: TaskRecord) -> str:
    """Return the split of a record, or "" if it has none."""
    return getattr(record, "split", "")
