"""`evaluate`: what `iad compare` does, from Python, also with strategies, agents and verifiers of one's own."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from iad_policy.strategies import Strategy
from iad_policy.types import Agent, Verifier

if TYPE_CHECKING:
    from iad_policy.analysis.results import Results

Named = str | Callable[..., Any]


def evaluate(
    env: "str | Callable[[], gym.Env[Any, Any]]",
    strategies: "Named | Sequence[Named] | Mapping[str, Strategy | str]" = ("single", "bon-sc", "iad"),
    tasks: int = 100,
    *,
    agent: "str | Agent | Callable[..., Any] | Sequence[str | Agent | Callable[..., Any]] | None" = None,
    verifier: str | Verifier | None = None,
    out: Path | str | None = None,
    is_fresh: bool = False,
    track: "str | Callable[..., Any] | Sequence[str | Callable[..., Any]]" = (),
    **options: Any,
) -> "Results":
    """Run strategies on the same tasks and return what they reached and spent.

    Args:
        env: The environment's id, or what makes one; every worker makes its own.
        strategies: Names, or generator functions of your own, which may be given a name in a mapping.
        tasks: How many, from the start of the split.
        agent: One base agent or several: names, objects with `propose`, or functions; by default the environment's
            keyless one. An object is shared by all workers.
        verifier: A name, `"none"`, or an object with `verify`; by default the environment's proxy.
        out: The run folder, which the same call goes on in; None keeps nothing but the cache of model answers.
        is_fresh: Whether a run that the folder holds is forgotten first.
        track: Trackers that are told of every episode and of the end: names, or what makes them (`Tracker`).
        options: As the command line has them: `n` and `seed` (one or several), `workers`, `threads`, `budget`,
            `feedback`, `stop`, `delta`, `temperature`, `split`, `data_dir`, `env_args`, `baseline`, `cache`, `roles`,
            `simulator`.

    Returns:
        The results: print `results.table()`, or see `results.compare("iad", "bon-sc")` and `results.to_pandas()`.

    Raises:
        ValueError: A name or a number that makes no sense; the message says which are known.
        RunFolderError: The folder holds another run, or is in use.
        TrackerError: A tracker can't begin.
        RunStopped: The budget of the run is spent, or the model can't be asked; what was done is kept in `out`.
        KeyboardInterrupt: After Ctrl-C, when the answers under way are kept.
    """
    from iad_policy.analysis.results import Results
    from iad_policy.analysis.viewer.report import write_report
    from iad_policy.evaluation.components import load_components
    from iad_policy.evaluation.config import FREE
    from iad_policy.evaluation.resolve import env_of, resolve
    from iad_policy.evaluation.runner import Runner
    from iad_policy.evaluation.trackers import Tracking
    from iad_policy.recording.run_folder import RunFolder

    own: dict[str, Any] = {}
    agents = tuple(_named(one, own) for one in _listed(agent))
    asked = {
        **options,
        "env": env if isinstance(env, str) else _named(env, {}),
        "strategies": _strategies(strategies, own),
        "tasks": tasks,
        "agent": agents[0] if len(agents) == 1 else agents or None,
        "verifier": verifier if verifier is None else _named(verifier, own),
        "own": own,
    }
    for name in ("n", "seed"):
        if isinstance(asked.get(name), list | range):
            asked[name] = tuple(asked[name])
    config = resolve(asked, is_known=isinstance(env, str))
    runner = Runner(config, partial(env_of, config) if isinstance(env, str) else env, load_components)
    results = Results(runner.heading)
    with TemporaryDirectory() as nowhere:
        try:
            recorded = runner.config()
            with (
                RunFolder(out or nowhere, recorded, free=FREE, is_fresh=is_fresh) as folder,
                Tracking(_listed(track), folder.path, config, recorded=recorded, warn=warnings.warn) as tracking,
            ):
                for record in runner.episodes(folder):
                    results.add(record)
                    tracking.on_episode(record)
                folder.write_summary(summary := results.as_json(results.figures()))
                tracking.on_summary(summary)
                if out is not None:
                    write_report(folder.path)
        finally:
            runner.close()
    return results


def _strategies(given: Any, own: dict[str, Any]) -> tuple[str, ...]:
    if not isinstance(given, Mapping):
        return tuple(_named(one, own) for one in _listed(given))
    own.update({name: one for name, one in given.items() if name != one})
    return tuple(given)


def _listed(given: Any) -> Sequence[Any]:
    if given is None:
        return ()
    return given if isinstance(given, list | tuple) else [given]


def _named(thing: Any, own: dict[str, Any]) -> str:
    """Return the name of a thing; one that is no name is kept as one's own under the name that its code has."""
    if isinstance(thing, str):
        return thing
    name = str(getattr(thing, "name", "") or getattr(thing, "__name__", "") or type(thing).__name__)
    if own.setdefault(name, thing) is not thing:
        raise ValueError(f"expected things with names that differ, got two named {name}; give them a `name` each")
    return name
