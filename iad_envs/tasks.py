"""What may be listed of an environment's tasks: the instruction, the split and the difficulty, never the gold."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol


class TaskRecord(Protocol):
    """What an environment knows about one of its tasks; usually there is more, gold included.

    A record may also have `split` and `difficulty`, both texts. A record without a split is in every split.
    """

    @property
    def task_id(self) -> str:
        """The task's id."""

    @property
    def instruction(self) -> str:
        """What the agent is asked to do."""


class TaskInfo(NamedTuple):
    """The public part of a task.

    Attributes:
        instruction: What the agent is asked to do.
        split: `train`, `dev`, `test` ...; "" where the data has no splits.
        difficulty: `easy`, `hard` ...; "" where the data does not say.
    """

    instruction: str
    split: str = ""
    difficulty: str = ""


class PublicTasks(Mapping[str, TaskInfo]):
    """The public part of many tasks, by id. Each is looked up when it is read, so listing ids reads no instruction.

    Args:
        records: The environment's own records by id.
        split: The split of records that name none.
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
    """Return the split that a record names; "" if it names none."""
    return getattr(record, "split", "")
