"""Runs a paper's comparison at our scale, and says of each of its trends whether it holds here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console, Group
from rich.table import Column, Table
from rich.text import Text

from iad_policy.agents import asks_a_model, refuse_gone
from iad_policy.errors import MissingExtra
from iad_policy.learn.laboratory import N_TEST, SeededLaboratory
from iad_policy.learn.train import LANGUAGE
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.papers import (
    PAPERS,
    WEBSHOP,
    Claim,
    MeasuredArm,
    compared_in,
    comparisons,
    experiments_of,
    load_comparison,
    what_differs,
)
from iad_policy.registry.domain import domain_by_id, time_with_small_model
from iad_policy.report.arm_pictures import draw_pictures
from iad_policy.report.compare import differences, over_tasks
from iad_policy.report.samples import REWARD, SUCCESS, CountingRules, by_task, samples_of
from iad_policy.types.atomic import write_text
from iad_policy.types.hashing import dumps

COLUMNS = ("trend", "published", "reward", "success", "p (Holm)", "MDE", "verdict")
RESULTS, PAGE = "reproduction.json", "reproduction.md"


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A paper's comparison, as it came out.

    Attributes:
        record: The content of `reproduction.json`: `title source differs env backend seeds n_tasks`; the `arms` by
            name, see `arms_measured`; the `claims`, see `judged`; and the `pictures`, see `ArmPicture`.
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
        # A terminal has room for the difference that decides; the page has both.
        of = " or ".join(dict.fromkeys(one["metric"] for one in known["claims"]))
        claims = Table(Column("trend", min_width=20), Column("published", min_width=14), box=None, pad_edge=False)
        for heading in (of, *COLUMNS[4:]):
            claims.add_column(heading, no_wrap=True)
        for one in known["claims"]:
            name, published, reward, success, *rest = _cells(one)
            claims.add_row(name, published, reward if one["metric"] == REWARD else success, *rest)
        seeds = ", ".join(map(str, known["seeds"]))
        yield Group(
            Text(f"{known['title']} ({known['source']})", style="bold"),
            Text(f"{known['env']}, {known['n_tasks']} test tasks, seeds {seeds}, {known['by']}. Rewards are 0 to 1."),
            Text("Differences from the paper:"),
            *(Text(f"- {sentence}") for sentence in known["differs"]),
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
    agent: str | None = None,
    simulator: str | None = None,
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
        agent: The agent of a comparison in which nothing is trained; by default the environment's own.
        simulator: A trained simulator, such as `llm:<folder>`, for the arms that need one. Without it they are left
            out.
        backend: What is trained.
        seeds: Seeds of training and measuring.
        tasks: Number of test tasks, from the start of the split.
        scale: Share of the training tasks that stages explore, for short runs.
        report: Function that is told how it goes, a line at a time.

    Raises:
        UnknownName: There is no such paper, or the environment lacks what training needs.
        ValueError: The agent knows the answer, so nothing can be claimed with it, or it asks no language model where
            one is needed, or an agent was given where one is trained, or a simulator where no arm needs one.
    """
    known, domain = load_comparison(paper, env), domain_by_id(env)
    own = agent or domain.agent
    refuse_gone(own)
    if known.needs_model and not asks_a_model(own):
        time = time_with_small_model(domain, known.n_proposals)
        raise ValueError(
            f"expected a language model as the agent for {known.title}, got {own or 'none'}; pass --agent "
            f"{domain.advised}{time and f' ({time})'}"
        )
    if not own:
        raise ValueError(
            f"expected an environment whose own agent shows how {known.title} begins, got {env}, which has none; use "
            f"{WEBSHOP}"
        )
    if own.partition(":")[0] == "solution":
        raise ValueError(
            f"expected an agent that does not know the answer, got {own} in {env}; compare methods there with a "
            f"language model: iad compare {env} --agent litellm:<model>"
        )
    if simulator is not None and not any(arm.needs_simulator for arm in known.arms.values()):
        raise ValueError(f"expected no simulator for {known.title}, which has its own, got {simulator}; leave it out")
    known = known.for_what_is_trained(reads_text=backend.startswith(LANGUAGE), has_simulator=simulator is not None)
    if agent is not None and known.stages is not None:
        raise ValueError(
            f"expected no agent for {known.title}, whose policies are trained, got {agent}; leave it out, and train a "
            "language model with --backend hf:<model>"
        )
    episodes: dict[str, list[EpisodeRecord]] = {name: [] for name in known.arms}
    for seed in seeds:
        here = SeededLaboratory(env, Path(out) / f"seed-{seed}", seed, backend, tasks, scale, report, agent, simulator)
        report(f"seed {seed}")
        if known.stages is not None:
            known.stages(here)
        for name, arm in known.arms.items():
            episodes[name] += here.measured(name, arm)
            report(f"  {name}: reward {fmean(one.reward for one in episodes[name]):.3f}")
    by = own if known.stages is None else f"backend {backend}"
    record = {
        "title": known.title,
        "source": known.source,
        "differs": list(what_differs(paper, "comparison", env)),
        "env": env,
        "backend": backend,
        "by": by + (f", simulator {simulator}" if simulator else ""),
        "seeds": list(seeds),
        "n_tasks": len({one.task_id for own in episodes.values() for one in own}),
        "arms": arms_measured(known.arms, episodes),
        "claims": judged(known.claims, episodes),
        "pictures": [asdict(one) for one in known.pictures],
    }
    write_text(Path(out) / RESULTS, f"{dumps(record)}\n")
    drawn: list[Path] = []
    try:
        drawn = draw_pictures(record, Path(out) / "figure")
    except MissingExtra as error:
        report(f"no pictures: {error}")
    write_text(Path(out) / PAGE, as_markdown(record, drawn))
    return Reproduction(record)


def coverage(paper: str = "", env: str = "") -> str:
    """Return what is compared of a paper in an environment, and what is done otherwise or not at all.

    Args:
        paper: The paper. By default each.
        env: The environment. By default each that the paper is compared in.
    """
    if not paper:
        others = (name for one in PAPERS if one not in comparisons() for name in experiments_of(one))
        settings = f"Not compared, settings alone (--preset): {', '.join(others)}"
        return "\n\n".join([*(coverage(one, env) for one in comparisons()), settings])
    if not env:
        return "\n\n".join(coverage(paper, one) for one in compared_in(paper))
    known = load_comparison(paper, env)
    how = "nothing is trained" if known.stages is None else "policies are trained"
    if known.needs_model:
        how += ", and the agent is a language model (--agent)"
    return "\n".join(
        [
            f"{known.title} ({known.source})",
            f"{env}: {len(known.arms)} arms, {how}",
            *(f"Trend: {one.name} (published: {one.published})" for one in known.claims),
            *(f"Picture: {one.title}" for one in known.pictures),
            "Differences from the paper:",
            *(f"- {one}" for one in what_differs(paper, "comparison", env)),
        ]
    )


def arms_measured(
    arms: Mapping[str, MeasuredArm], episodes: Mapping[str, Sequence[EpisodeRecord]]
) -> dict[str, dict[str, Any]]:
    """Return the figures of each arm: its `n`, and the means over episodes of reward, success, proposals and tokens.

    `reward_95` and `success_95` are 95 % intervals over tasks, None if no episode counts.
    """
    tasks = by_task(samples_of(episodes), CountingRules())
    found: dict[str, dict[str, Any]] = {}
    for name, own in episodes.items():
        means = {one: over_tasks(tasks[name].per_task(one), is_rate=one == SUCCESS) for one in (REWARD, SUCCESS)}
        found[name] = {
            "n": arms[name].options.get("n", 1),
            "reward": fmean(one.reward for one in own),
            "success": fmean(one.success or 0.0 for one in own),
            **{f"{one}_95": mean and list(mean.interval_95) for one, mean in means.items()},
            "proposals": fmean(one.spent.proposals for one in own),
            "tokens": fmean(one.spent.tokens for one in own),
        }
    return found


def judged(claims: Sequence[Claim], episodes: Mapping[str, Sequence[EpisodeRecord]]) -> list[dict[str, Any]]:
    """Return the claims with the differences that they are about, and whether they hold.

    A difference has its mean in `reward` and `success`. Of the claim's own metric, `interval_95` is bootstrapped over
    tasks, `p` is that of the sign-flip test, adjusted by Holm for all claims of that metric, and `detectable` is the
    smallest difference that would be found with 80 % power. The `verdict` is `confirmed` if the interval is above
    what the claim asks, `refuted` if it is below it, and else `undecidable`. Where the claim asks for any difference,
    the adjusted p has to be below .05 as well.
    """
    names = {f"claim {place}": claim for place, claim in enumerate(claims)}
    rows = {**episodes, **{name: _beyond(claim, episodes) for name, claim in names.items()}}
    compared = differences(rows, {name: claim.less for name, claim in names.items()})
    found = []
    for name, claim in names.items():
        reward, success = compared[name].metrics[REWARD], compared[name].metrics[SUCCESS]
        low, high = (own := compared[name].metrics[claim.metric]).interval_95
        verdict = "confirmed" if low > claim.least else "refuted" if high < claim.least else "undecidable"
        if claim.least == 0 and own.p_holm >= 0.05:
            verdict = "undecidable"
        measured = {"reward": reward.value, "success": success.value, "interval_95": [low, high], "p": own.p_holm}
        found.append({**asdict(claim), **measured, "detectable": own.detectable, "verdict": verdict})
    return found


def _beyond(claim: Claim, episodes: Mapping[str, Sequence[EpisodeRecord]]) -> Sequence[EpisodeRecord]:
    """Return the episodes of the better arm, less what the arms of `beyond` differ by in the same task and seed."""
    if claim.beyond is None:
        return episodes[claim.more]
    more, less = ({(one.task_id, one.seed): one for one in episodes[name]} for name in claim.beyond)
    return [
        replace(
            one,
            reward=one.reward - (more[place].reward - less[place].reward),
            success=(one.success or 0.0) - ((more[place].success or 0.0) - (less[place].success or 0.0)),
        )
        for one in episodes[claim.more]
        if (place := (one.task_id, one.seed)) in more and place in less
    ]


def as_markdown(record: Mapping[str, Any], drawn: Sequence[Path] = ()) -> str:
    """Return the content of `reproduction.json` as a page, the content of `reproduction.md`: tables, then pictures."""
    seeds = ", ".join(map(str, record["seeds"]))
    lines = [
        f"{record['env']}, {record['n_tasks']} test tasks, seeds {seeds}, {record['by']}. "
        "Rewards are 0 to 1; intervals are 95 %, clustered by task.",
        "",
        "Differences from the paper:",
        *(f"- {sentence}" for sentence in record["differs"]),
        "",
    ]
    spent = [axis for axis in ("proposals", "tokens") if all(axis in one for one in record["arms"].values())]
    head = ["arm", "reward", "success", *spent]
    lines += [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for name, one in record["arms"].items():
        figures = [f"{one['reward']:.3f}", f"{one['success']:.3f}", *(f"{one[axis]:,.1f}" for axis in spent)]
        lines.append(f"| {' | '.join([name, *figures])} |")
    lines += ["", f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    lines += [f"| {' | '.join(_cells(one))} |" for one in record["claims"]]
    pictures = [path.name for path in drawn if path.suffix == ".png"]
    lines += [f"\n![{one['title']}]({name})" for one, name in zip(record["pictures"], pictures, strict=bool(pictures))]
    return "\n".join(lines) + "\n"


def _cells(claim: Mapping[str, Any]) -> list[str]:
    low, high = claim["interval_95"]
    here = {name: f"{claim[name]:+.3f}" for name in (REWARD, SUCCESS)}
    here[claim["metric"]] += f" [{low:+.3f}, {high:+.3f}]"  # of what decides
    p = "<0.001" if claim["p"] < 0.001 else f"{claim['p']:.3f}"
    detectable = "" if claim["detectable"] is None else f"{claim['detectable']:.3f}"
    return [claim["name"], claim["published"], here[REWARD], here[SUCCESS], p, detectable, claim["verdict"]]
