"""The sensible responses in a state, each with a fit: what the agent draws from, and policies choose among."""

from collections.abc import Iterator, Sequence

from iad_envs.toolcalls.policy.binding import Binding, bindings
from iad_envs.toolcalls.policy.documents import Parameter
from iad_envs.toolcalls.policy.obstacles import ways_around
from iad_envs.toolcalls.policy.planning import LEAST_SURE, RequestGoal, goals_of, is_unsure
from iad_envs.toolcalls.policy.reading import Dialogue, calls_text, conversation
from iad_policy.types import State

DONE = "reply[That is all done.]"
UNABLE = "reply[Due to the limitations of the function, I cannot solve this problem.]"
"""What the agent says when everything is done, and when nothing fits: ACEBench looks for these words."""
FIRST = 1.1
"""Fit of what an error says has to be done first."""
RIGHT, NEXT_BEST, SLIP, UNLIKELY = 1.0, 0.8, 0.6, 0.35
"""Fit of a response: what the request asks for, what also makes sense, a usual mistake, and a rare one."""
SURE = 1.2
"""How sure a function has to be to be called where a value for another goal is missing."""
VERY_SURE = 1.8
"""How sure a function is that hardly leaves a doubt."""
MAX_ERRORS = 4
"""Calls that may fail in a turn before the agent gives up."""


def choices_of(state: State) -> dict[str, float]:
    """Return the sensible responses in a state, each with its fit. A larger fit is more likely."""
    at = conversation(state)
    goals = goals_of(at)
    return _answers(at, goals) if at.is_single else _closed(at, _next_calls(at, goals))


def question_about(one: Parameter) -> str:
    """Return a reply that asks for a value, in the words that ACEBench looks for."""
    what = one.name.removesuffix("_id").replace("_", " ")
    return f"reply[Missing necessary parameters ({one.name}) for the api ({one.owner}). Which {what} do you mean?]"


def _next_calls(at: Dialogue, goals: tuple[RequestGoal, ...]) -> dict[str, float]:
    """Return the choices in a conversation: the next call for each goal that is not served, or a reply."""
    found: dict[str, float] = {}
    left = [goal for goal in goals if not goal.is_served]
    n_errors = sum(one.has_failed for one in at.now)
    if not left or n_errors >= MAX_ERRORS:
        found[DONE if at.worked else at.closing or UNABLE] = RIGHT
        if at.closing:
            _add(found, at.closing, NEXT_BEST)
        for goal in goals[:2]:
            for wish in goal.wishes[1:2]:
                if wish.plan is not None and wish.plan.is_complete:
                    _add(found, _written(wish.plan), UNLIKELY)
        return found
    for place, way in enumerate(ways_around(at)):
        fit = FIRST - 0.2 * place
        _add(found, _written(way) if way.is_complete else question_about(way.missing[0]), fit)
    lacking = [goal for goal in left if goal.best.plan is None]
    if lacking and not at.worked:
        asked = lacking[0].best.missing
        fit = RIGHT if max(goal.best.sureness for goal in left) < SURE else NEXT_BEST
        _add(found, question_about(asked[0]) if asked else UNABLE, fit)
    if is_unsure(at, left) and not lacking:
        _add(found, UNABLE, RIGHT)
    is_sure = max(goal.best.sureness for goal in left) >= SURE
    is_behind = is_unsure(at, left) or (lacking and not at.worked and not is_sure)
    for place, goal in enumerate(goal for goal in left if goal.best.plan is not None):
        for rank, wish in enumerate(goal.wishes[:3]):
            if wish.plan is None:
                continue
            gap = goal.best.score - wish.score
            fit = RIGHT - 0.1 * bool(is_behind) - min(0.6, 0.25 * place) - min(0.5, gap) - 0.1 * bool(rank)
            _add(found, _written(wish.plan), fit)
            for other in _variants(at, goal, wish.plan):
                _add(found, _written(other), fit - 0.3)
    _add(found, *((DONE, SLIP) if at.worked else (UNABLE, _unable_fit(left))))
    return found


def _closed(at: Dialogue, found: dict[str, float]) -> dict[str, float]:
    """Return the choices with the end of the task in place of replies that have been no use."""
    kept: dict[str, float] = {}
    for action, fit in found.items():
        is_useless = action.startswith("reply[") and at.is_in_vain(action)
        _add(kept, at.closing if is_useless else action, fit)
    return kept


def _unable_fit(left: Sequence[RequestGoal]) -> float:
    """Return the fit of saying that no function can do it: the less sure the best one is, the larger."""
    sureness = max(goal.best.sureness for goal in left)
    share = (sureness - LEAST_SURE) / (VERY_SURE - LEAST_SURE)
    return NEXT_BEST - (NEXT_BEST - UNLIKELY) * min(1.0, max(0.0, share))


def _variants(at: Dialogue, goal: RequestGoal, plan: Binding) -> Iterator[Binding]:
    """Yield other ways to call the same function."""
    clause = goal.clause if plan.tool.name == goal.best.tool.name else None
    for other in bindings(at, plan.tool, clause)[:3]:
        if other.is_complete and other.arguments != plan.arguments:
            yield other


def _answers(at: Dialogue, goals: tuple[RequestGoal, ...]) -> dict[str, float]:
    """Return the choices for a single question: all calls at once, or a reply."""
    found: dict[str, float] = {}
    plans = [goal.best.plan for goal in goals if goal.best.plan is not None and goal.best.plan.is_complete]
    if plans:
        _add(found, calls_text([(one.tool.name, one.arguments) for one in plans]), RIGHT)
    for goal in goals:
        others = [one for one in plans if one is not goal.best.plan]
        if others:
            _add(found, calls_text([(one.tool.name, one.arguments) for one in others]), NEXT_BEST)
        for wish in goal.wishes[1:3]:
            if wish.plan is not None and wish.plan.is_complete:
                mixed = [wish.plan if one is goal.best.plan else one for one in plans]
                if mixed:
                    _add(found, calls_text([(one.tool.name, one.arguments) for one in mixed]), NEXT_BEST)
        if goal.best.plan is not None:
            for other in _variants(at, goal, goal.best.plan):
                mixed = [other if one is goal.best.plan else one for one in plans]
                _add(found, calls_text([(one.tool.name, one.arguments) for one in mixed]), NEXT_BEST)
    if not plans:
        for tool in at.known.tools.values():
            for guess in bindings(at, tool, None)[:1]:
                if guess.is_complete:
                    _add(found, _written(guess), NEXT_BEST)
    lacking = [one for goal in goals if goal.best.plan is None for one in goal.best.missing[:1]]
    if lacking and not plans:
        _add(found, question_about(lacking[0]), RIGHT)
    _add(found, UNABLE, NEXT_BEST if plans or lacking else RIGHT)
    return found


def _written(plan: Binding) -> str:
    return calls_text([(plan.tool.name, plan.arguments)])


def _add(found: dict[str, float], action: str, fit: float) -> None:
    found[action] = max(fit, found.get(action, fit))
