"""What stands in the way of a call that has failed: an error that says what has to be done first."""

from collections.abc import Iterator, Mapping

from iad_envs.toolcalls.policy.binding import Binding, bindings
from iad_envs.toolcalls.policy.documents import Tool
from iad_envs.toolcalls.policy.reading import Dialogue, MadeCall
from iad_envs.toolcalls.policy.words import stem_set, stems

CONDITIONS = stem_set("first before must need require")
"""Words of an error that asks for something."""
LEAST_TOLD = 0.3
"""Share of an error's words that a function has to explain."""


def ways_around(at: Dialogue) -> Iterator[Binding]:
    """Yield calls that an error asks for, the best first; they may lack arguments."""
    failed = _failed(at)
    if failed is None:
        return
    told = stems(_message(failed))
    if not CONDITIONS & set(told):
        return
    known = [word for word in dict.fromkeys(told) if at.known.knows(word) and word not in CONDITIONS]
    scored = [(_share(at, tool, known), tool) for tool in at.known.tools.values() if tool.name != failed.name]
    for share, tool in sorted(scored, key=lambda one: -one[0])[:2]:
        if share >= LEAST_TOLD and not tool.only_looks and not any(one.name == tool.name for one in at.worked):
            yield from bindings(at, tool, None)[:1]


def _failed(at: Dialogue) -> MadeCall | None:
    """Return the last call if it has failed, also one of the turn before that is still open."""
    calls = at.now or (at.made if at.is_pending else ())
    return calls[-1] if calls and calls[-1].has_failed else None


def _message(call: MadeCall) -> str:
    data = call.data
    if isinstance(data, Mapping):
        return str(data.get("error") or data.get("message") or data)
    return call.result


def _share(at: Dialogue, tool: Tool, told: list[str]) -> float:
    """Return the share of an error's words that a function's document explains, rare words counting more."""
    total = sum(map(at.known.weight, told))
    return sum(at.known.weight(word) * tool.match(word) for word in told) / total if total else 0.0
