"""Applies the settings of a paper to a run, and says which of them the paper states."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from iad_policy.agents import asks_a_model, is_registered
from iad_policy.papers import Experiment, Settings, what_differs
from iad_policy.run.config import MAPPINGS, PER_STRATEGY
from iad_policy.strategies import find_strategy, options_of


def applied(
    name: str, preset: Experiment, given: Settings, *, takes_sampling: bool
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a configuration that takes a preset's settings, and the lines that are printed with the run.

    Args:
        name: Name of the preset.
        preset: The experiment.
        given: The settings of the command line, which override the preset. They always include `strategies`.
        takes_sampling: Whether the agent is a language model. Other agents don't use `agent_args`.
    """
    agent = given.get("agent", "")
    agents = agent if isinstance(agent, tuple) else (agent,)
    first = agents[0] if agents[0].startswith(("local:", "hf:")) else agents[0].partition(":")[2]
    model = first if takes_sampling else ""  # by the name that a judge takes
    unused = (
        [] if takes_sampling else [*_flat({"agent_args": _merged(preset.ours, preset.stated).get("agent_args", {})})]
    )
    stated_there, needing = _with_model(preset.stated, model)
    preset = replace(preset, stated=stated_there)
    # No paper's agent is asked again for an answer that can't be read.
    preset = replace(preset, ours=_merged({"agent_args": {"reask": 0}}, preset.ours))
    stated, ours = (_usable(part, given, takes_sampling) for part in (preset.stated, preset.ours))
    merged: dict[str, Any] = {"tasks": None, **_merged(ours, stated), "preset": name}
    for key, value in given.items():
        merged[key] = {**merged.get(key, {}), **value} if key in MAPPINGS else value
    overridden = [
        f"{argument} = {there[argument]} (there {one})"
        for key, value in preset.stated.items()
        for there, settings in [(given.get(key, {}), value) if key in MAPPINGS else (given, {key: value})]
        for argument, one in settings.items()
        if argument in there and there[argument] != one
    ]
    lines = [
        f"Preset {name}: {preset.source}",
        "" if takes_sampling else _no_reproduction(agents),
        _line("There with", [f"{preset.model}. {preset.published}"] if preset.model else []),
        _line("Stated there", _flat(stated, preset.sections)),
        _line("Not stated there, so ours", _flat(ours)),
        _line("Set otherwise here", overridden),
        _line("Not used, as the agent asks no model", [*unused, *needing]),
        *(f"Differs from the paper: {one}" for one in what_differs(name, "settings", preset.env)),
        *preset.notes,
    ]
    if preset.agent and preset.agent not in str(agents):
        lines.append(f"The paper's agent is another: --agent {preset.agent}:<model>")
    return merged, tuple(line for line in lines if line)


def _with_model(settings: Settings, model: str) -> tuple[Settings, list[str]]:
    """Return settings with the agent's model where they name it, and those that are left out without one."""
    asking = {key for key, value in settings.items() if isinstance(value, str) and "{model}" in value}
    if not model:
        return {key: value for key, value in settings.items() if key not in asking}, [
            f"{key} = {settings[key].format(model='<model>')}" for key in settings if key in asking
        ]
    return {key: value.format(model=model) if key in asking else value for key, value in settings.items()}, []


def _no_reproduction(agents: Iterable[str]) -> str:
    """Return what is said of a run whose agents ask no model, or may ask one of which nothing is known here."""
    silent = [one for one in agents if not asks_a_model(one)]
    is_ours = all(map(is_registered, silent))
    reason = "asks no language model" if is_ours else "is your own, and nothing here knows which model it asks"
    return f"This is no reproduction of the paper: the agent {' or '.join(silent)} {reason}"


def _usable(settings: Settings, given: Settings, takes_sampling: bool) -> dict[str, Any]:
    """Return the settings of a preset that this run uses and that are not given otherwise."""
    strategies, own, own_args = given["strategies"], given.get("own", {}), given.get("strategy_args", {})
    having = {option for strategy in strategies for option in options_of(find_strategy(own.get(strategy, strategy)))}
    usable: dict[str, Any] = {}
    for key, value in settings.items():
        if key == "strategy_args":
            kept = {}
            for argument, one in value.items():
                whose, _, option = argument.rpartition(".")
                is_used = whose in strategies if whose else option in having
                # given for one strategy, or for all
                if is_used and option not in given and {argument, option}.isdisjoint(own_args):
                    kept[argument] = one
            value = kept
        elif key in MAPPINGS:
            is_used = takes_sampling or key != "agent_args"
            kept = {}
            for argument, one in value.items():
                whose, _, role = argument.rpartition(".") if key == "roles" else ("", "", argument)
                if is_used and whose in ("", *strategies) and {argument, role}.isdisjoint(given.get(key, {})):
                    kept[argument] = one
            value = kept
        elif key in given or (key in PER_STRATEGY and key != "n" and key not in having):
            continue
        if value != {}:
            usable[key] = value
    return usable


def _merged(below: Settings, above: Settings) -> dict[str, Any]:
    return {
        key: {**below.get(key, {}), **above.get(key, {})} if key in MAPPINGS else above.get(key, below.get(key))
        for key in dict.fromkeys((*below, *above))
    }


def _flat(settings: Settings, sections: Mapping[str, str] | None = None) -> Iterator[str]:
    for key, value in settings.items():
        for argument, one in value.items() if key in MAPPINGS else [(key, value)]:
            section = (sections or {}).get(argument, "")
            yield f"{argument} = {one} ({section})" if section else f"{argument} = {one}"


def _line(heading: str, settings: Iterable[str]) -> str:
    joined = ", ".join(settings)
    return f"{heading}: {joined}" if joined else ""
