"""From what was asked for to a complete configuration and its environments."""

import inspect
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

from iad_policy.defaults import DEFAULTS, Defaults
from iad_policy.errors import UnknownName
from iad_policy.evaluation.config import RunConfig
from iad_policy.verifiers import NO_VERIFIER

PREFIX = "IAD/"


def completed(asked: Mapping[str, Any], *, is_known: bool = True) -> RunConfig:
    """Return the configuration of a run: what was not asked for is the environment's own.

    Args:
        asked: Parts of a `RunConfig` by name, `env` among them; None for what is left open. The verifier may be `none`.
        is_known: Whether the environment is registered by its id.

    Raises:
        ValueError: No such environment, or no verifier where the environment has no proxy.
        UnknownName: A part that is none.
    """
    known = [part.name for part in fields(RunConfig)]
    for name in asked:
        if name not in known:
            raise UnknownName("option", name, known)
    env = asked["env"]
    parameters = parameters_of(env) if is_known else {}  # an unknown environment is told first
    defaults = DEFAULTS.get(env.rpartition(":")[2], Defaults())
    verifier = asked.get("verifier")
    if verifier is None and not defaults.proxy:
        raise ValueError(
            f"expected a verifier for {env}, which has no proxy verifier, got none; pass --verifier none, "
            "oracle or judge:<model>"
        )
    split = asked.get("split")
    return RunConfig(
        **{
            **asked,
            "agent": asked.get("agent") or defaults.agent,
            "verifier": "" if verifier == NO_VERIFIER else verifier or "proxy",
            "split": parameters.get("split") if split is None else split,
        }
    )


def make_env(env: str, env_args: Mapping[str, Any], *, split: str | None, data_dir: str | None) -> gym.Env[Any, Any]:
    """Return an environment.

    Raises:
        UnknownName: It does not take one of the arguments.
        ValueError: The split or the data folder are among them, which have names of their own.
    """
    known = parameters_of(env)
    given = {name: value for name, value in (("split", split), ("data_dir", data_dir)) if value is not None}
    for name in {**env_args, **given}:
        if name not in known:
            raise UnknownName(f"argument of {env}", name, known)
    for name in ("split", "data_dir"):
        if name in env_args:
            raise ValueError(f"expected --env-arg for other arguments, got {name}; use --{name.replace('_', '-')}")
    return gym.make(env, **{**env_args, **given})


def env_of(config: RunConfig) -> gym.Env[Any, Any]:
    """Return an environment of a configuration."""
    return make_env(config.env, config.env_args, split=config.split, data_dir=config.data_dir)


def parameters_of(env: str) -> dict[str, Any]:
    """Return the arguments that an environment takes, with their defaults.

    Raises:
        UnknownName: No such environment.
    """
    try:
        spec = gym.spec(env)
    except (gym.error.Error, ModuleNotFoundError):
        known = [name for name in gym.registry if name.startswith(PREFIX)]
        raise UnknownName("environment", env, known) from None
    entry = spec.entry_point
    creator = load_env_creator(entry) if isinstance(entry, str) else entry
    parameters = inspect.signature(creator).parameters if callable(creator) else {}
    return {name: parameter.default for name, parameter in parameters.items()}


def pairs(given: list[str] | None, option: str) -> dict[str, Any]:
    """Return KEY=VALUE texts as a mapping; a value that is JSON is read as such, any other is a text.

    Raises:
        ValueError: A text without an equals sign.
    """
    read: dict[str, Any] = {}
    for pair in given or ():
        key, sign, value = pair.partition("=")
        if not key or not sign:
            raise ValueError(f"expected {option} KEY=VALUE, got {pair!r}; put an equals sign between them")
        try:
            read[key] = json.loads(value)
        except ValueError:
            read[key] = value
    return read
