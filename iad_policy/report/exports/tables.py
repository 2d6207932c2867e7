"""What a table of an export is: its columns with their types, and how its rows are made from an episode."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from iad_policy.ledger.episode import Episode
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.report.exports.prompting import Prompter
from iad_policy.types.information import ORACLE_AGENT_TEXT, ORACLE_ROLE_TEXT
from iad_policy.types.names import TRAIN

Kind: TypeAlias = Any
"""`str`, `int`, `float` or `bool`, which may be missing; `[kind]` for a list, `{name: kind}` for a structure."""
Row: TypeAlias = dict[str, Any]

HEAD: Mapping[str, Kind] = {
    **dict.fromkeys(("run", "episode", "env", "data", "split", "task_id"), str),
    "seed": int,
    "agent": str,
    "strategy": str,
    "n": int,
    **dict.fromkeys(("verifier", "information", "agent_information", "role_information"), str),
    **dict.fromkeys(("success", "progress", "episode_reward"), float),
}
"""Stands in every row. So no row of a run under an oracle can be mistaken for another, and a file says of itself which
split and which data its tasks are from."""
MESSAGES: Kind = [{"role": str, "content": str}]


@dataclass(frozen=True, slots=True)
class Source:
    """A run that is exported.

    Attributes:
        run: The run.
        name: Its folder's.
        prompter: Puts its states and answers into words.
        min_margin: Least margin of a preference that a verifier gave.
        published: The published data that its tasks are from, with their licence; "" if that is not known.
    """

    run: Run
    name: str
    prompter: Prompter
    min_margin: float = 0.0
    published: str = ""

    def sees_gold(self, record: EpisodeRecord) -> bool:
        """Return whether the agent or a role of an episode sees gold, so that what they said may be the answer."""
        return any(True for _ in self.oracles(record))

    def oracles(self, record: EpisodeRecord) -> Iterator[str]:
        """Yield what reports say of the agent and of each role of an episode that sees gold."""
        names = self.run.config.get("identity", {}).get(record.agent, {})
        if names.get("agent_information"):
            yield f"{record.agent} is an {ORACLE_AGENT_TEXT}"
        yield from (f"{role} is an {ORACLE_ROLE_TEXT}" for role in names.get("oracle_roles", ()))

    @property
    def split(self) -> str:
        """The split of the tasks; "" where the run does not say."""
        # An environment knows its split itself if it was made with it.
        known = (self.run.config.get("tasks_of"), self.run.config.get("split"))
        return next((one for one in known if isinstance(one, str)), "")

    def cautions(self, record: EpisodeRecord) -> Iterator[str]:
        """Yield what a model that is trained on an episode learns besides the task."""
        # An oracle verifier is none of it: the true reward of training tasks is what training reads.
        yield from self.oracles(record)
        if self.split not in ("", TRAIN):
            yield f"its tasks are of the split {self.split!r}; what is trained on them can't be measured on them"

    def head(self, record: EpisodeRecord) -> Row:
        """Return the columns that every row of an episode has."""
        config = self.run.config
        names = config.get("identity", {}).get(record.agent, {})
        return {
            **{name: getattr(record, name, None) for name in HEAD},
            "run": self.name,
            "episode": record.key,
            "data": config.get("data", {}).get("digest", ""),
            "split": self.split,
            "agent_information": names.get("agent_information", ""),
            "role_information": "oracle" if names.get("oracle_roles") else "",
            "episode_reward": record.reward,
        }


class ExportTable(NamedTuple):
    """One kind of row.

    Attributes:
        columns: Name -> kind, after those of `HEAD`.
        rows: Makes an episode's rows, each a mapping with every column.
        suffix: Between the name of the file that was asked for and its ending; "" for that file itself.
        is_scored_only: Whether episodes that failed have no rows.
        absent: What is missing where there are no rows at all.
    """

    columns: Mapping[str, Kind]
    rows: Callable[[Source, Episode], Iterator[Row]]
    suffix: str = ""
    is_scored_only: bool = True
    absent: str = "finished episodes"

    @property
    def kinds(self) -> dict[str, Kind]:
        """All columns."""
        return {**HEAD, **self.columns}
