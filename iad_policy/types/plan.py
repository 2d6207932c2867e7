"""The plan of `adaptive`: what to do after each verdict, as a table that a pilot was turned into.

`iad advise RUN --policy FILE` writes it; see docs/adaptive.md. Its rows are the candidates so far, its letters what to
do by the incumbent's score. So deciding is looking up.
"""

import json
import math
import tomllib
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from iad_policy.types import AXES, DIFFER, Usage
from iad_policy.types.hashing import seed_of

VERSION = 2
PLAN = "plan"
"""The option of a strategy that takes one."""
SAMPLE, REFINE, STOP = "s", "r", "x"


@dataclass(frozen=True)
class AdaptivePlan:
    """What to do next in a decision.

    Attributes:
        env: Id of the environment whose pilot it is from.
        agent: Name of the agent.
        verifier: Name of the verifier.
        feedback: Feedback form of the pilot's refinements.
        instruct: Their instruction.
        axis: What spending counts.
        worth: What a success is worth, on that axis.
        n: Most proposals of a decision.
        edges: Scores that part the letters of a row, ascending.
        rows: "samples,refinements" -> a letter for each range of the incumbent's score, lowest first: `s` to sample,
            `r` to refine, `x` to stop. Candidates without a row are the last.
        cheaper: The same for the decisions that follow another table, so that the mean spending is met.
        share: Share of the decisions that follow `rows`.
        success: Success of a decision at tasks of the pilot that such a plan was not made of.
        spent: Its spending there.
        pilot: What the pilot was: its tasks, what it spent on `axis` and on each axis of `Usage`, what an attempt cost,
            and what refining gained at tasks that a plan was not made of (successes per decision), with its standard
            error.
        only_samples: Why the plan never refines; "" if it may.
        version: Version of this form.
    """

    env: str
    agent: str
    verifier: str
    feedback: str
    instruct: str
    axis: str
    worth: float
    n: int
    edges: tuple[float, ...]
    rows: Mapping[str, str]
    cheaper: Mapping[str, str]
    share: float
    success: float
    spent: float
    pilot: Mapping[str, float] = field(default_factory=dict)
    only_samples: str = ""
    version: int = VERSION

    @classmethod
    def of(cls, content: Mapping[str, Any], name: str = "the plan") -> "AdaptivePlan":
        """Return the plan of a file's content.

        Raises:
            ValueError: It is of another version, or no plan.
        """
        if content.get("version") != VERSION:
            raise ValueError(
                f"expected a plan of version {VERSION}, got {name} of version {content.get('version', 'none')}; make "
                "it again: iad advise RUN --policy FILE"
            )
        needed = {part.name for part in fields(cls)}
        if set(content) != needed:
            off = ", ".join(sorted(set(content) ^ needed))
            raise ValueError(f"expected a plan as iad advise writes it, got {name}, where these differ: {off}")
        edges, rows, cheaper = tuple(content["edges"]), dict(content["rows"]), dict(content["cheaper"])
        for row, letters in (*rows.items(), *cheaper.items()):
            if len(letters) != len(edges) + 1 or set(letters) - {SAMPLE, REFINE, STOP}:
                raise ValueError(
                    f"expected {len(edges) + 1} letters of {SAMPLE}, {REFINE} and {STOP} in each row of {name}, got "
                    f"{row} = {letters!r:.40}; make it again: iad advise RUN --policy FILE"
                )
        return cls(**{**content, "edges": edges, "rows": rows, "cheaper": cheaper})

    def named_by(self) -> tuple[Any, ...]:
        """The values that a digest of the plan covers: what it decides by."""
        return (self.n, self.edges, dict(self.rows), dict(self.cheaper), self.share)

    def table_for(self, name: str) -> Mapping[str, str]:
        """Return the table that a decision follows, drawn by its name."""
        return self.rows if seed_of("plan", name) < self.share * 2**64 else self.cheaper

    def move(self, table: Mapping[str, str], score: float, n_sampled: int, n_refined: int) -> str:
        """Return what to do next: `SAMPLE`, `REFINE` or `STOP`.

        Args:
            table: The table that the decision follows.
            score: Score of the incumbent; -inf or NaN if it has none.
            n_sampled: Number of candidates without feedback so far.
            n_refined: Number of candidates with feedback so far.
        """
        letters = table.get(f"{n_sampled},{n_refined}", "")
        place = bisect_right(self.edges, -math.inf if math.isnan(score) else score)
        return letters[place] if letters else STOP

    def pilot_usage(self) -> Usage:
        """Return what the pilot spent.

        Raises:
            ValueError: The plan does not say: it was made before plans did.
        """
        if "proposals" not in self.pilot:
            raise ValueError(
                "expected a plan with its pilot's proposals, which are charged, got one without; make it again: iad "
                "advise RUN --policy FILE"
            )
        return Usage(**{axis: self.pilot[axis] for axis in AXES if axis in self.pilot})  # type: ignore[arg-type]

    def as_dict(self) -> dict[str, Any]:
        """Return its content as values for JSON."""
        return {**asdict(self), "edges": list(self.edges)}

    def as_toml(self) -> str:
        """Return its content as a TOML file."""
        plain = {name: value for name, value in self.as_dict().items() if not isinstance(value, dict)}
        tables = {name: value for name, value in self.as_dict().items() if isinstance(value, dict)}
        lines = [f"{name} = {json.dumps(value)}" for name, value in plain.items()]
        for name, table in tables.items():
            lines += ["", f"[{name}]", *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in table.items())]
        return "\n".join(lines) + "\n"

    def refuse_other(self, **here: str) -> None:
        """Refuse another environment, agent, verifier, feedback form or instruction than the plan's.

        Raises:
            ValueError: One is another than the plan's.
        """
        for name, value in here.items():
            if (planned := getattr(self, name)) != value:
                raise ValueError(
                    f"expected the {name} {planned}, which the plan was made with, got {value}; make a plan for that "
                    "one: run a pilot (iad compare ... --out RUN), then iad advise RUN --policy FILE"
                )


def load_plan(plan: "AdaptivePlan | Mapping[str, Any] | Path | str") -> AdaptivePlan:
    """Return a plan, given as it is, as its content, or as its file.

    Raises:
        ValueError: It can't be read, is of another version, or no plan.
    """
    if isinstance(plan, AdaptivePlan):
        return plan
    if isinstance(plan, Mapping):
        return AdaptivePlan.of(plan)
    path = Path(plan)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(
            f"expected the file of a plan, got {path}, which can't be read: {error.strerror}; make one: iad advise RUN "
            f"--policy {path}"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"expected a plan in TOML, got {path}: {error}; make one: iad advise RUN --policy FILE"
        ) from error
    return AdaptivePlan.of(content, str(path))


def refinement_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the feedback form and the instruction of a strategy that refines, by its options."""
    return {"feedback": options.get("feedback") or "findings", "instruct": options.get("instruct") or DIFFER}
