"""Runs a paper's comparison at our scale, and says of each of its trends whether it holds here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from iad_policy.learn.laboratory import N_TEST, SeededLaboratory
from iad_policy.learn.train import LANGUAGE
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.papers import WEBSHOP, Claim, load_comparison, what_differs
from iad_policy.registry.domain import domain_by_id
from iad_policy.report.compare import differences
from iad_policy.report.samples import REWARD, SUCCESS
from iad_policy.types.atomic import write_atomically
from iad_policy.types.hashing import dumps

RESULTS, PAGE = "reproduction.json", "reproduction.md"


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A paper's comparison, as it came out.

    Attributes:
        record: The content of `reproduction.json`: `title source differs env backend seeds n_tasks`; the `arms` by name
            with mean reward and success, and mean proposals and tokens of an episode; and the `claims`, see `judged`.
    """

    record: Mapping[str, Any]

    def __rich_console__(self, console: Console, options: Any) -> Iterator[Group]:
        known = self.record
        arms = Table("arm", "reward", "success", "proposals", "tokens", box=None, pad_edge=False)
        for name, one in known["arms"].items():
            figures = (
                f"{one['reward']:.3f}",
                f"{one['success']:.3f}",
                f"{one['proposals']:.1f}",
                f"{one['tokens']:,.0f}",
            )
            arms.add_row(name, *figures)
        claims = Table("trend", "published", box=None, pad_edge=False)
        for heading in ("reward", "success", "p (Holm)", "verdict"):
            claims.add_column(heading, no_wrap=True)
        for one in known["claims"]:
            claims.add_row(*_cells(one))
        seeds = ", ".join(map(str, known["seeds"]))
        yield Group(
            Text(f"{known['title']} ({known['source']})", style="bold"),
            Text(
                f"{known['env']}, {known['n_tasks']} test tasks, seeds {seeds}, backend {known['backend']}. "
                "Rewards are 0 to 1."
            ),
            *(Text(f"Differs: {sentence}") for sentence in known["differs"]),
            "",
            arms,
            "",
            claims,
        )


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
        paper: A name in `comparisons()`.
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
    known = load_comparison(paper, env).for_what_is_trained(reads_text=backend.startswith(LANGUAGE))
    episodes: dict[str, list[EpisodeRecord]] = {name: [] for name in known.arms}
    for seed in seeds:
        here = SeededLaboratory(env, Path(out) / f"seed-{seed}", seed, backend, tasks, scale, report)
        report(f"seed {seed}")
        known.stages(here)
        for name, arm in known.arms.items():
            episodes[name] += here.measured(name, arm)
            report(f"  {name}: reward {fmean(one.reward for one in episodes[name]):.3f}")
    record = {
        "title": known.title,
        "source": known.source,
        "differs": list(what_differs(paper, "comparison", env)),
        "env": env,
        "backend": backend,
        "seeds": list(seeds),
        "n_tasks": len({one.task_id for own in episodes.values() for one in own}),
        "arms": {
            name: {
                "reward": fmean(one.reward for one in own),
                "success": fmean(one.success or 0.0 for one in own),
                "proposals": fmean(one.spent.proposals for one in own),
                "tokens": fmean(one.spent.tokens for one in own),
            }
            for name, own in episodes.items()
        },
        "claims": judged(known.claims, episodes),
    }
    for name, text in ((RESULTS, f"{dumps(record)}\n"), (PAGE, as_markdown(record))):
        with write_atomically(Path(out) / name) as part:
            part.write_text(text, encoding="utf-8")
    return Reproduction(record)


def judged(claims: Sequence[Claim], episodes: Mapping[str, Sequence[EpisodeRecord]]) -> list[dict[str, Any]]:
    """Return the claims with the differences that they are about, and whether they hold.

    A difference has its mean in `reward` and `success`. Of the claim's own metric, `interval_95` is bootstrapped over
    tasks, and `p` is that of the sign-flip test, adjusted by Holm for all claims of that metric. The `verdict` is
    `holds` if the interval is above what the claim asks, and `does not hold` if it is below it.
    """
    names = {f"claim {place}": claim for place, claim in enumerate(claims)}
    rows = {**episodes, **{name: episodes[claim.more] for name, claim in names.items()}}
    compared = differences(rows, {name: claim.less for name, claim in names.items()})
    found = []
    for name, claim in names.items():
        reward, success = compared[name].metrics[REWARD], compared[name].metrics[SUCCESS]
        low, high = (own := compared[name].metrics[claim.metric]).interval_95
        verdict = "holds" if low > claim.least else "does not hold" if high < claim.least else "cannot be told"
        measured = {"reward": reward.value, "interval_95": [low, high], "success": success.value, "p": own.p_holm}
        found.append({**asdict(claim), **measured, "verdict": verdict})
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
    ]
    spent = [axis for axis in ("proposals", "tokens") if all(axis in one for one in record["arms"].values())]
    head = ["arm", "reward", "success", *spent]
    lines += [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for name, one in record["arms"].items():
        figures = [f"{one['reward']:.3f}", f"{one['success']:.3f}", *(f"{one[axis]:,.1f}" for axis in spent)]
        lines.append(f"| {' | '.join([name, *figures])} |")
    lines += ["", "| trend | published | reward | success | p (Holm) | verdict |", "|---|---|---|---|---|---|"]
    lines += [f"| {' | '.join(_cells(one))} |" for one in record["claims"]]
    return "\n".join(lines) + "\n"


def _cells(claim: Mapping[str, Any]) -> list[str]:
    low, high = claim["interval_95"]
    here = {name: f"{claim[name]:+.3f}" for name in (REWARD, SUCCESS)}
    here[claim["metric"]] += f" [{low:+.3f}, {high:+.3f}]"  # of what decides
    p = "<0.001" if claim["p"] < 0.001 else f"{claim['p']:.3f}"
    return [claim["name"], claim["published"], here[REWARD], here[SUCCESS], p, claim["verdict"]]
