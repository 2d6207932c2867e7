"""What was asked for on the command line, as the configuration of a run."""

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from iad_policy.agents import asks_a_model
from iad_policy.defaults import DEFAULTS, Defaults
from iad_policy.evaluation.config import RunConfig
from iad_policy.papers import PRESETS
from iad_policy.presets import Applied, applied, find_preset
from iad_policy.verifiers import NO_VERIFIER

T = TypeVar("T")
_SAME = (
    *("env", "verifier", "split", "data_dir", "tasks", "subset", "baseline"),
    *("feedback", "stop", "delta", "temperature", "threads", "workers", "cache"),
)
_LISTS: Mapping[str, Callable[[str], Any]] = {"agent": str, "n": int, "seed": int}
"""Parts of the configuration that take several values between commas."""
_PAIRS = {"budget": "budget", "strategy_args": "strategy_arg", "agent_args": "agent_arg", "env_args": "env_arg"}
"""Part of the configuration -> the option that gives it pair by pair."""


def asked_for(given: Mapping[str, Any], default: tuple[str, ...], *, environments: Collection[str]) -> Applied:
    """Return the parts of the configuration: what is given, under it the preset's.

    Args:
        given: The command's options by name, None for one that was not given.
        default: The strategies of a command that names none: several to compare, or one to run.
        environments: Known ids, for the error.

    Raises:
        ValueError: No environment, an unknown preset, or one for another environment.
    """
    parts = {name: given[name] for name in _SAME if given.get(name) is not None}
    for name, kind in _LISTS.items():
        parts |= {name: _several(given[name], kind, f"--{name}")} if given[name] is not None else {}
    for name, option in _PAIRS.items():
        parts |= {name: named} if (named := pairs(given[option], f"--{option.replace('_', '-')}")) else {}
    preset = None if given["preset"] is None else find_preset(given["preset"], PRESETS, given["env"])
    if preset is not None:
        parts["env"] = given["env"] or preset.env
        default = preset.strategies if len(default) > 1 else (preset.method,)
    elif given["env"] is None:
        raise ValueError(
            f"expected an environment, got none; name one ({', '.join(environments)}), or pass --preset "
            "<paper>/<environment>"
        )
    wanted = given["strategies"]
    parts["strategies"] = default if wanted is None else tuple(one.strip() for one in wanted.split(",") if one.strip())
    if preset is None:
        return Applied(parts, ())
    parts.setdefault("agent", DEFAULTS[preset.env].agent)
    agents = (parts["agent"],) if isinstance(parts["agent"], str) else parts["agent"]
    return applied(given["preset"], preset, parts, takes_sampling=all(map(asks_a_model, agents)))


def configured(settings: Mapping[str, Any], *, split: str | None) -> RunConfig:
    """Return the configuration: what is not asked for is the environment's default.

    Args:
        settings: From `asked_for`.
        split: The environment's own.

    Raises:
        ValueError: Something that makes no sense; the message says what would.
    """
    env = settings["env"]
    defaults = DEFAULTS.get(env.rpartition(":")[2], Defaults())
    verifier = settings.get("verifier")
    if verifier is None and not defaults.proxy:
        raise ValueError(
            f"expected a verifier for {env}, which has no proxy verifier, got none; pass --verifier oracle, "
            "judge:<model> or none"
        )
    own = {
        "agent": settings.get("agent") or defaults.agent,
        "verifier": "" if verifier == NO_VERIFIER else verifier or "proxy",
        "split": settings.get("split", split),
    }
    return RunConfig(**{**settings, **own})


def pairs(given: list[str] | None, option: str) -> dict[str, Any]:
    """Return KEY=VALUE texts as a mapping; a value that is JSON is read as such, any other is a text.

    Raises:
        ValueError: One without an equals sign.
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


def _several(given: str, kind: Callable[[str], T], option: str) -> T | tuple[T, ...]:
    """Return the values of a list with commas; one value as it is."""
    try:
        values = tuple(kind(value.strip()) for value in given.split(","))
    except ValueError:
        raise ValueError(f"expected {option} with whole numbers between commas, got {given!r}") from None
    return values[0] if len(values) == 1 else values
