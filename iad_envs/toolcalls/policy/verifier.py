"""The proxy verifier of tool calls: findings about a response, and whether it is what the request asks for. No gold.

Calls lose for what is found of them in the preview, such as an error, an argument that nobody has said, or a repeated
call, and for a function or arguments that fit the request's words worse than others. A reply loses while something that
was asked for is not done. The answer to a single question scores the probability that it is right, and other responses
only rank. Each candidate is judged by itself.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import gymnasium as gym

from iad_envs.toolcalls.policy.planning import RequestGoal, goals_of, is_unsure
from iad_envs.toolcalls.policy.reading import Dialogue, conversation, written_calls
from iad_policy.types import Candidate, State, Verdict
from iad_policy.types.information import Information

INVALID = 0.0
PENALTIES: Mapping[str, float] = {
    "tool_error": 0.6,
    "unknown_function": 0.9,
    "withheld_function": 0.9,
    "missing_argument": 0.7,
    "unknown_argument": 0.7,
    "wrong_type": 0.5,
    "not_in_enum": 0.5,
    "ungrounded_argument": 0.4,
    "repeated_call": 0.2,
}
"""Code of a finding -> what it takes off."""
UNSERVED, SERVED, ASKED = 0.3, 0.9, 0.9
"""Score of a reply while something is left to do, after everything is done, and where a value is missing."""
IN_VAIN = 0.005
"""Score of a reply that has been no use: lower than that of any end."""
UNFIT = 0.45
"""Share of a call's score that it keeps if nothing speaks for it."""
NOT_ASKED_FOR = 0.25
"""How well a call fits that nothing left in the request asks for."""
OTHER_VALUES = 0.4
"""What other arguments than the best take off, if all differ."""
OF_TURN = 0.4
"""Share of a reply's score that it keeps if the turn's calls serve nothing."""
FAILED, RECOVERED, MOST_TAKEN = 0.15, 0.03, 0.3
"""Taken off a reply for a call that failed in its turn, for one whose function has worked since, and at most."""
WRONG_CALL = 0.5
"""How well a call has to serve a goal so that nothing is said against it."""
LATER = 0.08
"""Taken off for each goal that comes before the one that a call serves."""
UNSURE = 0.55
"""Share of its score that a call keeps where no function fits well, so that a reply may be better."""
CALLED = ((0.0, 0.01), (0.7, 0.05), (0.97, 0.1), (1.0, 0.75))
REPLIED = ((0.0, 0.01), (0.3, 0.02), (0.9, 0.75), (1.0, 0.8))
"""Score of an answer of calls, and of one without, before calibration -> share of such answers that were right.

Measured on the bundled single-turn tasks of the splits `train` and `dev`."""


class CallVerifier:
    """Scores responses of calls and replies: 0 to 1."""

    information: Information = "proxy"
    needs_preview = True
    reads_info = True

    def __init__(self, env: gym.Env[Any, Any] | None = None) -> None:
        pass

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Score each candidate's preview."""
        at = conversation(state)
        goals = goals_of(at)
        return [verdict(at, goals, candidate) for candidate in candidates]


class Fitness(NamedTuple):
    """How well a response fits the request: 0 to 1, and what speaks against it."""

    share: float
    said: tuple[str, ...] = ()


def verdict(at: Dialogue, goals: Sequence[RequestGoal], candidate: Candidate) -> Verdict:
    """Return the verdict on a candidate, which needs a preview.

    Args:
        at: The conversation before it.
        goals: The goals of the request there.
        candidate: The candidate.

    Raises:
        ValueError: It has no preview.
    """
    preview = candidate.preview
    if preview is None:
        raise ValueError(f"expected a preview of {candidate.action!r}, got none; a driver attaches it")
    facts = preview.info.get("facts") or {}
    if preview.info.get("invalid_action"):
        return Verdict(INVALID, str(facts.get("complaint", "")))
    calls = written_calls(str(candidate.action)) or ()
    findings = facts.get("findings") or ()
    score, fitness = _scored(at, goals, calls)
    score -= sum(PENALTIES.get(one["code"], 0.0) for one in findings)
    score = min(1.0, max(0.0, score))
    if not calls and not candidate.is_terminal and at.is_in_vain(str(candidate.action)):
        return Verdict(IN_VAIN, "Nobody has an answer to that.", details={"fit": fitness.share})
    if candidate.is_terminal:
        score = calibrated(score, CALLED if calls else REPLIED)
    said = [*(str(one["message"]) for one in findings), *fitness.said]
    return Verdict(score, " ".join(said) or "It fits what is asked for.", details={"fit": fitness.share})


def calibrated(score: float, measured: Sequence[tuple[float, float]]) -> float:
    """Return the probability that an answer with a score is right, between two measured ones on a line."""
    for (low, first), (high, last) in pairwise(measured):
        if score <= high:
            return first + (last - first) * (score - low) / (high - low)
    return measured[-1][1]


def _scored(
    at: Dialogue, goals: Sequence[RequestGoal], calls: Sequence[tuple[str, Mapping[str, Any]]]
) -> tuple[float, Fitness]:
    """Return the score of calls, or of a reply, before findings are looked at."""
    left = [goal for goal in goals if not goal.is_served]
    if not calls:
        fitness = _of_reply(at, left)
        return (fitness.share, fitness) if at.is_single else _of_turn(at, goals, fitness)
    fitness = _of_calls(at, left, calls)
    if not left:
        return NOT_ASKED_FOR, fitness
    score = UNFIT + (1.0 - UNFIT) * fitness.share
    if is_unsure(at, left):
        score *= UNSURE
    return score, fitness


def _of_reply(at: Dialogue, left: Sequence[RequestGoal]) -> Fitness:
    """Return how well a reply fits."""
    if not left or is_unsure(at, left):
        return Fitness(SERVED)
    lacking = [goal for goal in left if goal.best.plan is None]
    if lacking and not at.worked:
        return Fitness(ASKED)
    if not any(goal.best.plan is not None for goal in left):
        return Fitness(SERVED)
    goal = next(goal for goal in left if goal.best.plan is not None)
    return Fitness(UNSERVED, (f"Not done yet: {goal.clause.text!r}; {goal.best.tool.name} may serve it.",))


def _of_turn(at: Dialogue, goals: Sequence[RequestGoal], fitness: Fitness) -> tuple[float, Fitness]:
    """Return the score of a reply that ends a turn: it is worth what was done in the turn.

    Calls that change something count, each by how well it serves a goal. A call that failed counts against the turn,
    but less if the function has worked since.
    """
    fits = [(one, max((_fit(goal, one.name, one.arguments) for goal in goals), default=0.0)) for one in at.worked]
    changing = [(one, fit) for one, fit in fits if not _only_looks(at, one.name)]
    quality = sum(fit for _, fit in changing) / len(changing) if changing else 1.0
    working = {one.name for one in at.worked}
    failed = [one for one in at.now if one.has_failed]
    taken = sum(RECOVERED if one.name in working else FAILED for one in failed)
    said = list(fitness.said)
    said += [f"{one.name} was not asked for like this." for one, fit in changing if fit < WRONG_CALL]
    said += [f"{one.name} has failed." for one in failed if one.name not in working]
    share = fitness.share * (OF_TURN + (1.0 - OF_TURN) * quality) - min(MOST_TAKEN, taken)
    return share, Fitness(share, tuple(dict.fromkeys(said)))


def _only_looks(at: Dialogue, name: str) -> bool:
    tool = at.known.tools.get(name)
    return tool is not None and tool.only_looks


def _of_calls(at: Dialogue, left: Sequence[RequestGoal], calls: Sequence[tuple[str, Mapping[str, Any]]]) -> Fitness:
    """Return how well calls fit: their mean, and for a single question also whether every goal has one."""
    open_goals, found, said = list(left), [], []
    for name, arguments in calls:
        fits = [(_fit(goal, name, arguments) - LATER * n, n) for n, goal in enumerate(open_goals)]
        best, place = max(fits, default=(NOT_ASKED_FOR, -1))
        if best <= NOT_ASKED_FOR:
            found.append(NOT_ASKED_FOR)
            said.append(_against(open_goals, name))
            continue
        goal = open_goals.pop(place)
        found.append(best)
        if goal.best.plan is not None and (name, arguments) != (goal.best.plan.tool.name, goal.best.plan.arguments):
            said.append(f"For {goal.clause.text!r} {_shown(goal)} may fit better.")
    share = sum(found) / len(found)
    missed = [goal for goal in open_goals if goal.best.plan is not None] if at.is_single else []
    if missed:
        share *= len(calls) / (len(calls) + len(missed))
        said.append(f"Nothing is called for {missed[0].clause.text!r}.")
    return Fitness(min(1.0, share), tuple(said))


def _fit(goal: RequestGoal, name: str, arguments: Mapping[str, Any]) -> float:
    """Return how well a call serves a goal."""
    best = 0.0
    for wish in goal.wishes:
        for way in (wish.plan, wish.binding):
            if way is None or way.tool.name != name:
                continue
            keys = {*way.arguments, *arguments}
            same = sum(way.arguments.get(key) == arguments.get(key) for key in keys) / len(keys) if keys else 1.0
            best = max(best, 1.0 - (goal.best.score - wish.score) - OTHER_VALUES * (1.0 - same))
    return best


def _against(left: Sequence[RequestGoal], name: str) -> str:
    if not left:
        return f"Nothing is left that asks for {name}."
    return f"{name} does not fit {left[0].clause.text!r}; {_shown(left[0])} may."


def _shown(goal: RequestGoal) -> str:
    return goal.best.plan.tool.name if goal.best.plan is not None else goal.best.tool.name
