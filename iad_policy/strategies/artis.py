"""ARTIS: attempt the task in simulation, evaluate and summarise the attempts, then act once."""

from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Literal

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import All, Ask, Asking, Commit, Propose
from iad_policy.strategies import declares
from iad_policy.strategies.building_blocks.attempts import Attempt, best_plan
from iad_policy.strategies.building_blocks.rollouts import roll_out, valued
from iad_policy.types import Candidate, PlannedActions, State

REAL = "What comes now is real and counts."
"""First line of the note that the agent gets for the real execution."""


@declares(n="attempts per episode", needs="verifier", needs_unless=("verify", "evaluate"))
def artis(
    here: State,
    *,
    n: int = 5,
    mode: Literal["sequential", "parallel"] = "sequential",
    depth: int = 20,
    every: int | None = None,
    verify: bool = True,
    evaluate: bool = True,
    summarise: bool = True,
    until_pass: bool = False,
    temperature: float | None = None,
) -> Asking[None]:
    """Attempt the rest of the episode n times in simulation, then execute it once with a summary of the attempts.

    In the sequential form, an attempt is given all earlier ones with their evaluations (eq. 2). In the parallel form,
    attempts are independent (eq. 3). There are always n, and none ends the simulation early. The paper's unit is one
    user turn with all its actions. Here a unit ends where the world answers with what no simulation could know (the
    user's next message), at the end of the episode, or after `every` actions.

    Args:
        here: The episode's first state.
        n: Number of attempts.
        mode: Whether an attempt is given the earlier ones ("sequential") or not ("parallel").
        depth: Maximum number of actions of an attempt (paper: 20 per user turn).
        every: Number of committed actions after which attempts are simulated again. None simulates once per unit.
        verify: Whether the verifier is asked about the last step of each attempt. An evaluator without a model uses its
            verdict, one with a model is given its critique.
        evaluate: Whether attempts are evaluated. False is the ablation.
        summarise: Whether the agent gets a summary. False gives it the attempts themselves (ablation).
        until_pass: The naive loop: attempts stop at the first one that passes, and the agent is given only that one.
        temperature: Temperature of all proposals (paper: 1.0 for the actor, 0.01 for the other roles).

    Budget: If it ends during the first attempt, the execution is given the part simulated so far, without an
    evaluation. If it ends before an evaluation, that attempt has none. If it ends before the summary, the attempts
    themselves are given. If even the execution's first proposal is cut, the first action of the first attempt that
    passed is committed, or else that of the first attempt. Every later step has one proposal of its own.
    """
    if mode not in ("sequential", "parallel"):
        raise ValueError(f"expected mode sequential or parallel, got {mode!r}; pass one of the two")
    if depth < 1 or (every is not None and every < 1):
        raise ValueError(
            f"expected depth and every of 1 or more, got {depth} and {every}; leave them out for the defaults"
        )
    if until_pass and (mode == "parallel" or not evaluate):
        raise ValueError(
            "expected sequential attempts with evaluation for until_pass, got others; leave out mode, evaluate or "
            "until_pass"
        )

    def attempt(at: State) -> Asking[Attempt]:
        made = Attempt((yield from roll_out(at, depth=depth, temperature=temperature)))
        with suppress(BudgetExhausted):
            if evaluate and len(made.rollout):
                judged: list[State | Candidate] = [made.rollout.end]
                if verify:
                    judged.append((yield from valued(made.rollout)).candidates[-1])
                made = replace(made, evaluation=(yield from Ask("evaluator", at, judged)))
        return made

    while not here.done:
        attempts: list[Attempt] = []
        if mode == "parallel":
            made = yield from All([attempt(here) for _ in range(n)])
            attempts = [one for one in made if one.first is not None]
        else:
            for _ in range(n):
                new = yield from attempt(here.noted(*_texts(attempts)))
                if new.first is None:
                    break
                attempts.append(new)
                if until_pass and new.has_passed:
                    break
        told = attempts[-1:] if until_pass else attempts
        notes, plan = yield from _advice(here, told, summarise=summarise and not until_pass)
        for _ in count() if every is None else range(every):
            try:
                (candidate,) = yield from Propose(here.noted(*notes).planned(plan), 1, temperature=temperature)
            except BudgetExhausted:  # only in the decision that simulated: every later one has a granted proposal
                passed = [one for one in attempts if one.has_passed]
                first = next((one.first for one in (*passed, *attempts)), None)
                if first is None:
                    raise
                candidate = first
            here = yield from Commit(candidate)
            if here.done or here.is_answered:
                break


def _advice(
    here: State, attempts: list[Attempt], *, summarise: bool
) -> Asking[tuple[list[str], PlannedActions | None]]:
    """Return the note for the execution, with a summary or the attempts themselves, and the plan it may follow."""
    begun = [attempt for attempt in attempts if len(attempt.rollout)]
    if not begun:
        return [], None
    texts, plan = _texts(attempts), next((attempt.plan for attempt in begun if attempt.has_passed), None)
    if summarise:
        with suppress(BudgetExhausted):
            made = [(attempt.rollout.end, attempt.evaluation) for attempt in begun]
            texts = [(yield from Ask("summariser", here, made))]
            plan = best_plan((attempt.plan, attempt.evaluation) for attempt in begun)
    return ["\n".join([REAL, *texts])], plan


def _texts(attempts: list[Attempt]) -> list[str]:
    return [attempt.as_text(number) for number, attempt in enumerate(attempts, start=1) if len(attempt.rollout)]
