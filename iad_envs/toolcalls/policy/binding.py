"""Gives a function's parameters values: the arguments that fit best together, and what is missing."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from iad_envs.toolcalls.policy.documents import Parameter, Tool
from iad_envs.toolcalls.policy.mentions import Clause, Mention
from iad_envs.toolcalls.policy.reading import Dialogue
from iad_envs.toolcalls.policy.values import Value, values_for

WIDTH = 3
"""Values that are tried for each parameter."""
MAX_TRIED = 5
"""Parameters for which more than the best value is tried."""
OPTIONAL_FIT, REFERRED_FIT = 0.78, 0.6
"""Least fit of a value for a parameter that may be left out, in the user's words and in an earlier result."""
MISSING = 0.6
"""Taken off a binding's fit for each required parameter without a value."""


class Binding(NamedTuple):
    """A call that may be made.

    Attributes:
        tool: The function.
        arguments: Its arguments.
        fit: Mean fit of the required ones.
        missing: Required parameters without a value.
        mentions: Values of the request that it uses.
    """

    tool: Tool
    arguments: Mapping[str, Any]
    fit: float
    missing: tuple[Parameter, ...]
    mentions: tuple[Mention, ...]

    @property
    def is_complete(self) -> bool:
        """Whether it can be called."""
        return not self.missing

    @property
    def found_fit(self) -> float:
        """Mean fit of the required arguments that have a value."""
        n_found = len(self.tool.required) - len(self.missing)
        return (self.fit * len(self.tool.required) + MISSING * len(self.missing)) / n_found if n_found else 0.0


def bindings(at: Dialogue, tool: Tool, clause: Clause | None) -> list[Binding]:
    """Return ways to call a function for a clause, the best first. Calls that have failed in this turn are left out."""
    key = ("bindings", tool.name, -1 if clause is None else clause.place)
    found: list[Binding] = at.once(key, lambda: _bindings(at, tool, clause))
    return found


def _bindings(at: Dialogue, tool: Tool, clause: Clause | None) -> list[Binding]:
    options: list[tuple[Parameter, list[Value | None]]] = []
    for one in tool.parameters:
        found: list[Value | None] = list(values_for(at, tool, one, clause)[:WIDTH])
        if not one.is_required:
            least = REFERRED_FIT if found and found[0] is not None and found[0].is_referred else OPTIONAL_FIT
            found = [value for value in found[:1] if value is not None and value.fit >= least]
            if not found or (found[0] is not None and found[0].value == one.default and not one.choices):
                continue
        options.append((one, [*found, None]))
    options.sort(key=lambda option: -_best(option[1]))
    if len(options) > MAX_TRIED:
        options = [*options[:MAX_TRIED], *((one, values[:1]) for one, values in options[MAX_TRIED:])]
    found_all = [_binding(tool, chosen) for chosen in _choices(options, ())]
    known = {repr(sorted(one.arguments.items())): one for one in sorted(found_all, key=lambda one: one.fit)}
    usable = [one for one in known.values() if not (one.is_complete and at.has_failed(tool.name, one.arguments))]
    return sorted(usable, key=lambda one: -one.fit)[:4]


def _best(values: Sequence[Value | None]) -> float:
    return max((value.fit for value in values if value is not None), default=0.0)


def _choices(
    options: Sequence[tuple[Parameter, list[Value | None]]], taken: tuple[tuple[int, int, int], ...]
) -> Iterator[list[tuple[Parameter, Value | None]]]:
    if not options:
        yield []
        return
    (one, values), rest = options[0], options[1:]
    for value in values:
        place = value and value.mention and (value.mention.clause, value.mention.start, value.mention.end)
        if place and any(place[0] == other[0] and place[1] < other[2] and other[1] < place[2] for other in taken):
            continue
        for others in _choices(rest, (*taken, place) if place else taken):
            yield [(one, value), *others]


def _binding(tool: Tool, chosen: Sequence[tuple[Parameter, Value | None]]) -> Binding:
    values = {one.name: value for one, value in chosen if value is not None}
    missing = tuple(one for one in tool.required if one.name not in values)
    fits = [values[one.name].fit if one.name in values else -MISSING for one in tool.required]
    fit = sum(min(fit, 1.2) for fit in fits) / len(fits) if fits else 0.5
    fit += 0.12 * sum(one.name in values for one in tool.parameters if not one.is_required)
    return Binding(
        tool,
        {one.name: values[one.name].value for one in tool.parameters if one.name in values},
        fit,
        missing,
        tuple(value.mention for value in values.values() if value.mention is not None),
    )
