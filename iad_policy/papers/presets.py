"""The papers' settings, by name: `<paper>/<environment>`. The table is in `iad_policy.papers.settings`.

The settings that a paper states and those that it leaves open are kept apart, and both are printed with the run.
Command-line options override a preset.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from iad_policy.errors import UnknownName

Settings = Mapping[str, Any]
"""Parts of a run's configuration by name, as in `RunConfig`. All tasks of the split are run unless `tasks` is set."""


@dataclass(frozen=True, slots=True)
class Preset:
    """An experiment of a paper in an environment.

    Attributes:
        env: The environment's id.
        source: The paper, and its section or code.
        strategies: The strategies, baselines first and the paper's own method last.
        stated: The settings that the paper states.
        ours: The settings that the paper leaves open, with our values.
        agent: Name of the paper's agent without its model. "" if any agent will do.
        model: The language models that the paper's figures are of.
        figures: What the paper reports for them, baselines first, as published.
        notes: Other facts that the paper states, and how we read them.
    """

    env: str
    source: str
    strategies: tuple[str, ...]
    stated: Settings = field(default_factory=dict)
    ours: Settings = field(default_factory=dict)
    agent: str = ""
    model: str = ""
    figures: str = ""
    notes: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """The paper's own method."""
        return self.strategies[-1]


def find_preset(name: str, presets: Mapping[str, Preset], env: str | None = None) -> Preset:
    """Return a preset.

    Raises:
        UnknownName: There is no such preset.
        ValueError: The preset is for another environment.
    """
    if name not in presets:
        raise UnknownName("preset", name, presets)
    preset = presets[name]
    if env is not None and env.rpartition(":")[2] != preset.env:
        fitting = [other for other, one in presets.items() if one.env == env.rpartition(":")[2]]
        raise ValueError(
            f"expected the environment {preset.env} for the preset {name}, got {env}; leave it out, or use one of its "
            f"presets: {', '.join(fitting) or 'there is none'}"
        )
    return preset
