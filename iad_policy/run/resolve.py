"""Completes the requested options to a configuration, and makes its environments."""

import inspect
from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import gymnasium as gym

from iad_policy.agents import asks_a_model, refuse_gone
from iad_policy.errors import NoAgent, NoProxyVerifier, UnknownName
from iad_policy.ledger.run_folder import CONFIG, read_config
from iad_policy.papers import find_experiment
from iad_policy.registry import import_named
from iad_policy.registry.domain import default_agent, domain_by_id, domains
from iad_policy.registry.environments import class_of, others, registered
from iad_policy.run.config import DEFAULT_STRATEGIES, RunConfig
from iad_policy.run.presets import applied
from iad_policy.strategies import declaration_of
from iad_policy.types.names import NO_VERIFIER


def resolve(
    asked: Mapping[str, Any],
    *,
    is_known: bool = True,
    default: tuple[str, ...] = DEFAULT_STRATEGIES,
    folder: Path | str | None = None,
) -> RunConfig:
    """Return the configuration of a run. Missing options come from the preset, or else from the environment's defaults.

    Args:
        asked: Fields of a `RunConfig` by name; None for a field that is not set. A verifier may be `none`.
        is_known: Whether the environment is registered by its id.
        default: The strategies if none are given: several to compare, or one to run.
        folder: The folder that the run is for, if that is known.

    Raises:
        ValueError: There is no environment, or neither a verifier nor a proxy verifier of the environment.
        UnknownName: There is no such field, environment or preset.
        NoAgent: No agent is given, and the environment has none of its own.
        GoneAgent: Neither has it, and the run in the folder is of one that is gone.
    """
    known = [part.name for part in fields(RunConfig)]
    for name in asked:
        if name not in known:
            raise UnknownName("option", name, known)
    asked = _preset({name: value for name, value in asked.items() if value is not None}, default, folder)
    env = asked["env"]
    parameters = parameters_of(env) if is_known else {}  # report an unknown environment first
    own = domain_by_id(env)
    verifier = asked.get("verifier")
    strategies = [asked["strategies"]] if isinstance(asked["strategies"], str) else asked["strategies"]
    if verifier is None and not own.verifier and all(declaration_of(one).needs == "nothing" for one in strategies):
        verifier = NO_VERIFIER
    verifiers = (verifier or "proxy",) if verifier is None or isinstance(verifier, str) else tuple(verifier)
    # Of an environment that a function makes the name says nothing, so a proxy that is asked for is looked for later.
    if (verifier is None or (is_known and "proxy" in verifiers)) and not own.verifier:
        raise NoProxyVerifier(env)
    split = asked.get("split")
    return RunConfig(
        **{
            **asked,
            "agent": asked.get("agent") or _own_agent(env, folder),
            "verifier": tuple("" if one == NO_VERIFIER else one for one in verifiers),
            "split": parameters.get("split") if split is None else split,
        }
    )


def _own_agent(env: str, folder: Path | str | None) -> str:
    """Return the environment's own agent; where there is none, say so, and whether a run in the folder had one."""
    try:
        return default_agent(env)
    except NoAgent:
        if folder is not None and (Path(folder) / CONFIG).is_file():
            had = read_config(Path(folder))["agent"]
            for agent in [had] if isinstance(had, str) else had:
                refuse_gone(str(agent), Path(folder))
        raise


def _preset(asked: Mapping[str, Any], default: tuple[str, ...], folder: Path | str | None) -> dict[str, Any]:
    """Return the requested options, completed by those of the preset, if there is one."""
    if "preset" not in asked:
        if "env" not in asked:
            raise ValueError(
                "expected an environment, got none; name it on the command line, as env = ... in the file, or by "
                "--preset <paper>/<environment>"
            )
        return {"strategies": default, **asked}
    name = asked["preset"]
    preset = find_experiment(name, asked.get("env"))
    default = preset.strategies if len(default) > 1 else preset.strategies[-1:]
    own = {} if "agent" in asked else {"agent": _own_agent(preset.env, folder)}
    given = {"env": preset.env, **own, "strategies": default, **asked}
    agents = given["agent"] if isinstance(given["agent"], tuple) else (given["agent"],)
    settings, lines = applied(name, preset, given, takes_sampling=all(map(asks_a_model, agents)))
    return {**settings, "notes": lines}


def make_env(env: str, env_args: Mapping[str, Any], *, split: str | None, data_dir: str | None) -> gym.Env[Any, Any]:
    """Return an environment.

    Raises:
        UnknownName: The environment does not take one of the arguments.
        ValueError: The arguments contain the split or the data folder, which have their own options.
    """
    known = parameters_of(env)
    gone = getattr(class_of(gym.spec(env.rpartition(":")[2])), "GONE", {})  # the environment says what replaces them
    given = {name: value for name, value in (("split", split), ("data_dir", data_dir)) if value is not None}
    for name in {**env_args, **given}:
        if name == "split" and name not in known:
            raise ValueError(
                f"expected an environment with the argument split, which {env} has not, got split={split!r}; "
                "add it to its class"
            )
        if name not in known and name not in gone:
            raise UnknownName(f"argument of {env}", name, known)
    for name in ("split", "data_dir"):
        if name in env_args:
            raise ValueError(f"expected --env-arg for other arguments, got {name}; use --{name.replace('_', '-')}")
    return gym.make(env, **{**env_args, **given})


def env_of(config: RunConfig) -> gym.Env[Any, Any]:
    """Return a new environment of a configuration."""
    return make_env(config.env, config.env_args, split=config.split, data_dir=config.data_dir)


def entry_points(envs: Collection[str]) -> dict[str, Any]:
    """Return the registered entry point of each environment: "module:Class", or a function.

    Raises:
        UnknownName: There is no such environment or module.
    """
    for env in envs:
        parameters_of(env)  # imports what registers it
    return {env: gym.spec(env.rpartition(":")[2]).entry_point for env in envs}


def parameters_of(env: str) -> dict[str, Any]:
    """Return the arguments that an environment takes, with their defaults.

    Args:
        env: An id, or `module:Id`, whose module is imported and registers the id.

    Raises:
        UnknownName: There is no such environment or module.
    """
    module, _, name = env.rpartition(":")
    if module:
        import_named("environment or module:Id", env, module, (id for id, _ in domains()))
    spec = registered(name)
    if spec is None:
        own = [one.id for one in others() if module and one.namespace == name.rpartition("/")[0]]
        known = [id for id, _ in domains() if id not in own]
        raise UnknownName("environment or module:Id", env, [*known, *(f"{module}:{id}" for id in own)])
    creator = class_of(spec)
    parameters = inspect.signature(creator).parameters if callable(creator) else {}
    return {name: parameter.default for name, parameter in parameters.items()}
