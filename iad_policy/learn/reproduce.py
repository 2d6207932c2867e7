"""Runs a paper's comparison at our scale, and says of each of its trends whether it holds here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from iad_policy.learn.laboratory import N_TEST, SeededLaboratory
from iad_policy.learn.train import LANGUAGE
from iad_policy.papers import Claim, Paper, load_paper
from iad_policy.papers.settings import WEBSHOP
from iad_policy.registry.domain import domain_by_id
from iad_policy.report.compare import differences_of
from iad_policy.report.samples import REWARD, SUCCESS, CountingRules, Samples, SampleScore, TaskSample, by_task
from iad_policy.report.statistics import Interval
from iad_policy.types.atomic import write_atomically
from iad_policy.types.hashing import dumps

Verdict = Literal["holds", "does not hold", "cannot be told"]
Scores = Mapping[tuple[str, int], tuple[float, float]]
"""Reward and success by task and seed."""
SPENT = ("proposals", "tokens")
"""What an arm's episodes cost, in its record."""
RESULTS, PAGE = "reproduction.json", "reproduction.md"


@dataclass(frozen=True, slots=True)
class TestedClaim:
    """A claim, and what came out here.

    Attributes:
        claim: The claim.
        reward: Mean difference of the reward.
        reward_95: Its interval, bootstrapped over tasks.
        success: Mean difference of the success.
        p: Of the sign-flip test on the reward, adjusted by Holm for the paper's claims.
        verdict: `holds` if the interval is above what the claim asks, `does not hold` if it is below it.
    """

    claim: Claim
    reward: float
    reward_95: Interval
    success: float
    p: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A paper's comparison, as it came out.

    Attributes:
        paper: The paper.
        env: The environment.
        backend: What was trained.
        seeds: The seeds.
        arms: Mean reward and mean success of each arm.
        n_tasks: Number of test tasks.
        claims: The claims.
        spent: Mean proposals and mean tokens of an episode, of each arm.
    """

    paper: Paper
    env: str
    backend: str
    seeds: tuple[int, ...]
    arms: Mapping[str, tuple[float, float]]
    n_tasks: int
    claims: tuple[TestedClaim, ...]
    spent: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __rich_console__(self, console: Console, options: Any) -> Any:
        yield self.shown()

    def shown(self) -> RenderableType:
        """Return the tables for a terminal."""
        arms = Table("arm", "reward", "success", "proposals", "tokens", box=None, pad_edge=False)
        for name, (reward, success) in self.arms.items():
            proposals, tokens = self.spent.get(name, (0.0, 0.0))
            arms.add_row(name, f"{reward:.3f}", f"{success:.3f}", f"{proposals:.1f}", f"{tokens:,.0f}")
        claims = Table("trend", "published", box=None, pad_edge=False)
        for heading in ("reward here", "success", "p (Holm)", "verdict"):
            claims.add_column(heading, no_wrap=True)
        for one in self.claims:
            low, high = one.reward_95
            here = f"{one.reward:+.3f} [{low:+.3f}, {high:+.3f}]"
            p = "<0.001" if one.p < 0.001 else f"{one.p:.3f}"
            claims.add_row(one.claim.name, one.claim.published, here, f"{one.success:+.3f}", p, one.verdict)
        seeds = ", ".join(map(str, self.seeds))
        return Group(
            Text(f"{self.paper.title} ({self.paper.source})", style="bold"),
            Text(f"{self.env}, {self.n_tasks} test tasks, seeds {seeds}, backend {self.backend}. Rewards are 0 to 1."),
            *(Text(f"Differs: {sentence}") for sentence in self.paper.differs),
            "",
            arms,
            "",
            claims,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the content of `reproduction.json`."""
        return {
            "title": self.paper.title,
            "source": self.paper.source,
            "differs": list(self.paper.differs),
            "env": self.env,
            "backend": self.backend,
            "seeds": list(self.seeds),
            "n_tasks": self.n_tasks,
            "arms": {
                name: {"reward": reward, "success": success, **self._spent(name)}
                for name, (reward, success) in self.arms.items()
            },
            "claims": [{**asdict(one.claim), **_figures(one)} for one in self.claims],
        }

    def _spent(self, arm: str) -> dict[str, float]:
        return dict(zip(SPENT, self.spent[arm], strict=True)) if arm in self.spent else {}


def reproduce(
    paper: str,
    *,
    out: Path | str,
    env: str = WEBSHOP,
    backend: str = "linear",
    seeds: Sequence[int] = (0, 1, 2),
    tasks: int = N_TEST,
    scale: float = 1.0,
    report: Callable[[str], Any] = lambda text: None,
) -> Reproduction:
    """Run a paper's comparison. The same call again goes on after a kill: no finished stage is repeated.

    Args:
        paper: A name in `PAPERS`.
        out: Folder of everything that is explored, trained and measured.
        env: The environment's id.
        backend: What is trained.
        seeds: Seeds of training and measuring.
        tasks: Number of test tasks, from the start of the split.
        scale: Share of the training tasks that stages explore, for short runs.
        report: Function that is told how it goes, a line at a time.

    Raises:
        UnknownName: There is no such paper, or the environment lacks what training needs.
        ValueError: The environment's own agent knows the answer, so nothing can be claimed with it.
    """
    if (own := domain_by_id(env).agent).partition(":")[0] == "solution":
        raise ValueError(
            f"expected an environment whose own agent does not know the answer, got {env} with {own}; compare methods "
            f"there with a language model: iad compare {env} --agent litellm:<model>"
        )
    known, folder = load_paper(paper, env).for_what_is_trained(reads_text=backend.startswith(LANGUAGE)), Path(out)
    scores: dict[str, dict[tuple[str, int], tuple[float, float]]] = {name: {} for name in known.arms}
    spent: dict[str, list[tuple[int, int]]] = {}
    for seed in seeds:
        here = SeededLaboratory(env, folder / f"seed-{seed}", seed, backend, tasks, scale, report)
        report(f"seed {seed}")
        known.stages(here)
        for name, arm in known.arms.items():
            scores[name].update(here.measured(name, arm))
            spent.setdefault(name, []).extend(here.spent.get(name, ()))
            report(f"  {name}: reward {_mean([reward for reward, _ in scores[name].values()]):.3f}")
    found = Reproduction(
        known,
        env,
        backend,
        tuple(seeds),
        {
            name: (_mean([r for r, _ in own.values()]), _mean([s for _, s in own.values()]))
            for name, own in scores.items()
        },
        len({task for own in scores.values() for task, _ in own}),
        _tested(known.claims, scores),
        {name: (_mean([one for one, _ in own]), _mean([one for _, one in own])) for name, own in spent.items()},
    )
    record = found.as_json()
    for name, text in ((RESULTS, f"{dumps(record)}\n"), (PAGE, as_markdown(record))):
        with write_atomically(folder / name) as part:
            part.write_text(text, encoding="utf-8")
    return found


def as_markdown(record: Mapping[str, Any]) -> str:
    """Return the content of `reproduction.json` as the tables of a page, the content of `reproduction.md`."""
    seeds = ", ".join(map(str, record["seeds"]))
    lines = [
        f"{record['env']}, {record['n_tasks']} test tasks, seeds {seeds}, backend `{record['backend']}`. "
        "Rewards are 0 to 1; intervals are 95 %, clustered by task.",
        "",
        *(f"- Differs: {sentence}" for sentence in record["differs"]),
        "",
        *_arm_lines(record["arms"]),
        "",
        "| trend | published | reward here | success | p (Holm) | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for one in record["claims"]:
        low, high = one["reward_95"]
        here = f"{one['reward']:+.3f} [{low:+.3f}, {high:+.3f}]"
        p = "<0.001" if one["p"] < 0.001 else f"{one['p']:.3f}"
        lines.append(
            f"| {one['name']} | {one['published']} | {here} | {one['success']:+.3f} | {p} | {one['verdict']} |"
        )
    return "\n".join(lines) + "\n"


def _arm_lines(arms: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the table of the arms; what they spent where it is recorded."""
    spent = [name for name in SPENT if all(name in one for one in arms.values())]
    head = ["arm", "reward", "success", *spent]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for name, one in arms.items():
        figures = [f"{one['reward']:.3f}", f"{one['success']:.3f}", *(f"{one[axis]:,.1f}" for axis in spent)]
        lines.append(f"| {' | '.join([name, *figures])} |")
    return lines


def _tested(claims: Sequence[Claim], scores: Mapping[str, Scores]) -> tuple[TestedClaim, ...]:
    names = {f"claim {place}": claim for place, claim in enumerate(claims)}
    arms = by_task(_samples({**scores, **{name: scores[claim.more] for name, claim in names.items()}}), CountingRules())
    compared = differences_of(arms, {name: claim.less for name, claim in names.items()}, (SUCCESS, REWARD))
    found = []
    for name, claim in names.items():
        reward, success = compared[name].metrics[REWARD], compared[name].metrics[SUCCESS]
        low, high = reward.interval_95
        verdict: Verdict = "holds" if low > claim.least else "does not hold" if high < claim.least else "cannot be told"
        found.append(TestedClaim(claim, reward.value, reward.interval_95, success.value, reward.p_holm, verdict))
    return tuple(found)


def _samples(scores: Mapping[str, Scores]) -> Samples:
    return Samples(
        parts={arm: {"arm": arm} for arm in scores},
        samples=[
            TaskSample(task, arm, str(seed), {REWARD: SampleScore(reward, success)})
            for arm, own in scores.items()
            for (task, seed), (reward, success) in own.items()
        ],
        score=REWARD,
        is_of_runs=True,
    )


def _figures(one: TestedClaim) -> dict[str, Any]:
    return {
        "reward": one.reward,
        "reward_95": list(one.reward_95),
        "success": one.success,
        "p": one.p,
        "verdict": one.verdict,
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
