"""Applies the settings of a paper to a run, and says which of them the paper states."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from iad_policy.agents import asks_a_model, is_registered
from iad_policy.papers.presets import Preset, Settings
from iad_policy.run.config import MAPPINGS, PER_STRATEGY
from iad_policy.strategies import find_strategy, options_of


class Applied(NamedTuple):
    """Parts of a configuration, and the lines that are printed with the run."""

    settings: dict[str, Any]
    lines: tuple[str, ...]


def applied(name: str, preset: Preset, given: Settings, *, takes_sampling: bool) -> Applied:
    """Return a configuration that takes a preset's settings, overridden by the given ones.

    Args:
        name: Name of the preset.
        preset: The preset.
        given: The settings of the command line, which override the preset. They always include `strategies`.
        takes_sampling: Whether the agent is a language model. Other agents don't use `agent_args`.
    """
    unused = () if takes_sampling else _flat({"agent_args": _merged(preset.ours, preset.stated).get("agent_args", {})})
    # No paper's agent is asked again for an answer that can't be read.
    preset = replace(preset, ours=_merged({"agent_args": {"reask": 0}}, preset.ours))
    stated, ours = (_usable(part, given, takes_sampling) for part in (preset.stated, preset.ours))
    merged: dict[str, Any] = {"tasks": None, **_merged(ours, stated), "preset": name}
    for key, value in given.items():
        merged[key] = {**merged.get(key, {}), **value} if key in MAPPINGS else value
    lines = [
        f"Preset {name}: {preset.source}",
        "" if takes_sampling else _no_reproduction(given.get("agent", "")),
        _line("There with", [f"{preset.model}. {preset.figures}"] if preset.model else []),
        _line("Stated there", _flat(stated)),
        _line("Not stated there, so ours", _flat(ours)),
        _line("Set otherwise here", _overridden(preset, given)),
        _line("Not used, as the agent asks no model", unused),
        *preset.notes,
    ]
    if preset.agent and preset.agent not in str(given.get("agent", "")):
        lines.append(f"The paper's agent is another: --agent {preset.agent}:<model>")
    return Applied(merged, tuple(line for line in lines if line))


def _no_reproduction(agent: str | Collection[str]) -> str:
    """Return what is said of a run whose agents ask no model, or may ask one of which nothing is known here."""
    agents = [one for one in ((agent,) if isinstance(agent, str) else agent) if not asks_a_model(one)]
    is_ours = all(map(is_registered, agents))
    reason = "asks no language model" if is_ours else "is your own, and nothing here knows which model it asks"
    return f"This is no reproduction of the paper: the agent {' or '.join(agents)} {reason}"


def _usable(settings: Settings, given: Settings, takes_sampling: bool) -> dict[str, Any]:
    """Return the settings of a preset that this run uses and that are not given otherwise."""
    strategies: Collection[str] = given["strategies"]
    own: Settings = given.get("own", {})
    having = {option for strategy in strategies for option in options_of(find_strategy(own.get(strategy, strategy)))}
    usable: dict[str, Any] = {}
    for key, value in settings.items():
        if key == "strategy_args":
            value = {arg: one for arg, one in value.items() if _is_of(arg, strategies, having) and not _set(arg, given)}
        elif key == "agent_args":
            value = {arg: one for arg, one in value.items() if takes_sampling and arg not in given.get(key, {})}
        elif key in MAPPINGS:
            value = {arg: one for arg, one in value.items() if arg not in given.get(key, {})}
        elif key in given or (key in PER_STRATEGY and key != "n" and key not in having):
            continue
        if value != {}:
            usable[key] = value
    return usable


def _is_of(argument: str, strategies: Collection[str], having: Collection[str]) -> bool:
    whose, _, option = argument.rpartition(".")
    return whose in strategies if whose else option in having


def _set(argument: str, given: Settings) -> bool:
    """Return whether an argument of strategies is given, for one of them or for all."""
    option = argument.rpartition(".")[2]
    return option in given or not {argument, option}.isdisjoint(given.get("strategy_args", {}))


def _merged(below: Settings, above: Settings) -> dict[str, Any]:
    return {
        key: {**below.get(key, {}), **above.get(key, {})} if key in MAPPINGS else above.get(key, below.get(key))
        for key in dict.fromkeys((*below, *above))
    }


def _flat(settings: Settings) -> Iterator[str]:
    for key, value in settings.items():
        if key in MAPPINGS:
            yield from (f"{argument} = {one}" for argument, one in value.items())
        else:
            yield f"{key} = {value}"


def _overridden(preset: Preset, given: Settings) -> Iterator[str]:
    """Yield the stated settings that the command line changes."""
    for key, value in preset.stated.items():
        if key in MAPPINGS:
            for argument, one in value.items():
                there = given.get(key, {})
                if argument in there and there[argument] != one:
                    yield f"{argument} = {there[argument]} (there {one})"
        elif key in given and given[key] != value:
            yield f"{key} = {given[key]} (there {value})"


def _line(heading: str, settings: Iterable[str]) -> str:
    joined = ", ".join(settings)
    return f"{heading}: {joined}" if joined else ""
