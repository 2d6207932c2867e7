"""Runs a recorded comparison again with other verifiers, with the proposals that were recorded.

A proposal answers a question: the state, the feedback, the temperature, and how many samples came before. Where the
same question is asked again, the recorded proposal is what the agent would answer, so nothing is estimated. Strategies
without feedback ask the same questions in the first decision whatever the verifier says. From the first choice that
differs on, an episode goes other ways, and so does a chain whose feedback has the verifier's words. What was not
recorded there is asked of the agent, or ends the episode.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import gymnasium as gym

from iad_policy.errors import NotAllowed
from iad_policy.ledger.episode_record import NOT_RECORDED, EpisodeRecord
from iad_policy.ledger.replay import RecordedProposals, Replay
from iad_policy.ledger.run import Run
from iad_policy.registry import importing_only
from iad_policy.registry.environments import registered
from iad_policy.run.components import identity_of, load_components
from iad_policy.run.config import THREADS, RunConfig
from iad_policy.run.resolve import env_of
from iad_policy.run.runner import Runner
from iad_policy.runtime.components import Components
from iad_policy.strategies import STRATEGIES
from iad_policy.types import Candidate
from iad_policy.types.names import NO_VERIFIER

WORD = re.compile(r"[\w.+-]*")
"""Arguments that name no program, server or folder; those in the working folder are not looked for by a word alone."""


class Bounds(NamedTuple):
    """How much of a row is exact.

    Attributes:
        n_exact: Episodes that asked nothing that was not recorded.
        n_other: The others.
        low: Success over all if none of the others succeeds.
        high: Success if all of them do.
    """

    n_exact: int
    n_other: int
    low: float
    high: float


def reselecting(
    run: Run, verifiers: Sequence[str], *, asks: bool = False, workers: int = 1, allowed: Collection[str] = ()
) -> Runner:
    """Return a runner of the same comparison with other verifiers. Episodes that part from the record are errors.

    Args:
        run: The recorded run, which may be somebody else's.
        verifiers: Names of the verifiers.
        asks: Whether the run's agent is asked what was not recorded. Then those episodes are run anew from there.
        workers: Episodes that run in parallel.
        allowed: What the run's configuration may name besides components of iad and of installed packages: objects of
            modules, the folder of the data, and texts among arguments that are not a single word.

    Raises:
        UnknownName: There is no such verifier.
        NotAllowed: The configuration names something else.
        ValueError: The run has strategies that are not this project's, which its folder does not hold; its agent was
            trained on its tasks, which the new run could not say; or `asks`, and the agent is not the run's any more.
    """
    config = RunConfig.of(run.config)
    own = [name for name in config.strategies if name not in STRATEGIES]
    if own:
        raise ValueError(
            f"expected strategies of iad, got a run with {', '.join(own)}, which its folder does not hold; run them "
            "again with the other verifier"
        )
    trained = [name for name in run.config.get("trained_here", ()) if name.partition(" ")[0] == "agent"]
    if trained:
        raise ValueError(
            "expected a run whose agent was not trained on its tasks, got one whose agent was; run it again with the "
            "other verifier, and --allow-trained-tasks"
        )
    for text in _texts([config.env_args, config.agent_args if asks else ()]):
        if not WORD.fullmatch(text) and text not in allowed:
            raise NotAllowed(text)
    data_dir = config.data_dir
    if data_dir is not None and not data_dir.startswith("official:") and data_dir not in allowed:
        raise NotAllowed(data_dir)
    allowed = {*allowed, *verifiers}
    id_alone = config.env.rpartition(":")[2]
    again = replace(
        config,
        env=config.env if registered(id_alone) is None else id_alone,  # so that its module is not imported
        engine=THREADS,
        verifier=tuple("" if one == NO_VERIFIER else one for one in verifiers),
        match="",
        notes=(f"The proposals are those of the run {run.folder.resolve().name}, as far as it has them.",),
        workers=workers,
    )
    candidates: dict[str, dict[str, Candidate]] = {agent: {} for agent in config.agent}  # by question
    for key, record in run.records.items():
        if record.agent in candidates:
            candidates[record.agent].update(run.episode(key).proposals)

    @importing_only(allowed)
    def load(config: RunConfig, env: gym.Env[Any, Any], agent: str) -> Components:
        facts = run.config["identity"][agent]
        recorded = RecordedProposals(candidates[agent], facts["agent"], facts.get("agent_information", ""))
        replaying = partial(Replay, recorded, takes_feedback=facts.get("takes_feedback", True))
        if not asks:
            replay = replace(config, agent_args={}, own={**config.own, agent: replaying()})
            return load_components(replay, env, agent)
        components = load_components(config, env, agent)
        now = identity_of(components.agent, agent)
        if now != recorded.identity:
            raise ValueError(
                f"expected the run's agent to ask on, {recorded.identity!r:.200}, got {now!r:.200}; leave out --ask, "
                "or run the comparison again"
            )
        return replace(components, agent=replaying(asks=components.agent))

    return Runner(again, importing_only(allowed)(partial(env_of, again)), load)


def _texts(values: Any) -> Iterator[str]:
    """Yield the texts in a value of a configuration."""
    if isinstance(values, str):
        yield values
    elif isinstance(values, Mapping | Sequence):
        for part in values.values() if isinstance(values, Mapping) else values:
            yield from _texts(part)


def bounds(records: Mapping[str, Sequence[EpisodeRecord]]) -> dict[str, Bounds]:
    """Return for each row with episodes that part from the record how much of it is exact."""
    found = {}
    for label, own in records.items():
        others = [one for one in own if one.error_kind == NOT_RECORDED]
        exact = [one.success or 0.0 for one in own if one.is_scored]
        n = len(exact) + len(others)
        if others:
            found[label] = Bounds(len(exact), len(others), sum(exact) / n, (sum(exact) + len(others)) / n)
    return found
