"""Budgets: what is granted, what is cut, and what a strategy does about it."""

from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from iad_policy import All, Ask, Budget, Candidate, IADPolicyWrapper, Propose, State, Usage, Verify, per_step
from iad_policy.errors import BudgetExhausted, ContractError
from tests.contract.components import STRATEGIES, Calls, Hunch, Played, Wanderer, decide, declared, play
from tests.contract.drawing import N_TOKENS, SEEDS, THREADS, agent, drawn
from tests.contract.toy import Digger
from tests.effort import times

ALL = list(STRATEGIES)
few = settings(drawn, max_examples=times(10))
AXES = ("proposals", "verifications", "simulations", "asks")
COUNTED = (*AXES, "simulator.simulations")
NEVER_SPENT: Mapping[str, set[str]] = {
    "proposals": set(),
    "verifications": {
        "single", "bon-sc", "bon-sc-result", "bon-sc-vote", "self-refine", "self-debug", "artis-alone",
    },
    "simulations": {"single", "bon-sc", "bon-sc-vote", "self-refine"},
    "asks": {
        "single", "bon", "bon-sc", "bon-sc-result", "weighted-bon", "iad", "iad-none", "iad-scalar", "iad-delta",
        "iad-passed", "iad-score", "chains", "chains-uneven", "self-debug", "try-again", "bon-episode", "beam",
        "best-first", "q-tree", "q-guided-plain", "bon-score", "bon-gain", "bon-sc-vote",
        "weighted-bon-repeat", "adaptive", "adaptive-planned", "mixed", "ab-mcts",
    },
}  # fmt: skip
"""By axis, the strategies that spend nothing on it, so that no limit on it can be met by them."""
METERED: Mapping[str, Any] = {"verifier": "apart", "n_tokens": N_TOKENS}
OVERDRAWN = (("proposals", 1), ("tokens", 4), ("seconds", 4), ("agent.proposals", 1), ("agent.prompt_tokens", 4))
"""Axes on which a decision has nothing to spend, and threads."""
SCOPES = st.sampled_from(["decision", "episode"])
SHARES = st.floats(0, 1, exclude_max=True)


def dearest(played: Played, axis: str, scope: str = "decision") -> float:
    """What the decisions spent together, or the dearest of them, on an axis, which may be `role.axis`."""
    role, _, axis = axis.rpartition(".")
    usages = [decision.budget.get(role, Usage()) if role else decision.usage for decision in played.decisions]
    amounts = [float(getattr(usage, axis)) for usage in usages]
    return max(amounts, default=0.0) if scope == "decision" else sum(amounts)


def played(name: str, seed: int, simulator: str = "", **options: Any) -> Played:
    how = {**STRATEGIES[name], "agent": agent(seed), **({"simulator": simulator} if simulator else {})}
    return play("digger", how, env_seed=seed, **METERED, **options)


unlimited = lru_cache(maxsize=None)(played)


def busiest(name: str, axis: str, simulator: str = "") -> int:
    """Of a few seeds the one with which a strategy spends most in a decision."""
    return max(range(3), key=lambda seed: dearest(unlimited(name, seed, simulator), axis))


def limited(
    name: str, seed: int, limit: str, amount: float, *, threads: int = 1, simulator: str = ""
) -> tuple[float, bool]:
    """What a strategy spent under a limit, and whether that was met: it alone cut a decision or ended the episode."""
    found = played(name, seed, simulator, threads=threads, budget={limit: amount})
    scope, _, axis = limit.partition(".")
    cuts = {found.ended_by, *(decision.cut for decision in found.decisions)} - {""}
    notes = {note for decision in found.decisions for note in decision.notes}
    assert cuts <= {limit}
    return dearest(found, axis, scope), bool(cuts) or f"overdraft: one proposal beyond {limit}" in notes


def test_the_axes_that_a_strategy_never_spends_on_are_written_down() -> None:
    never = {axis: {name for name in ALL if not dearest(unlimited(name, busiest(name, axis)), axis)} for axis in AXES}
    assert never == NEVER_SPENT


@pytest.mark.parametrize("name", ALL)
@given(SEEDS, SHARES, SCOPES, THREADS)
@example(None, 0.0, "decision", 1)
@example(None, 0.7, "episode", 4)
@few
def test_a_counted_limit_is_met_and_not_passed_and_a_measured_one_is_passed_by_one_call_at_most(
    name: str, seed: int | None, share: float, scope: str, threads: int
) -> None:
    is_simulated = declared(STRATEGIES[name]).needs != "oracle"
    for axis in (*COUNTED, "tokens", "agent.prompt_tokens", "seconds"):
        simulator = "noisy:0.5" if axis == "simulator.simulations" and is_simulated else ""
        where = busiest(name, axis, simulator) if seed is None else seed
        wanted = dearest(unlimited(name, where, simulator), axis, scope)
        if simulator and seed is None:
            assert (wanted > 0) == (dearest(unlimited(name, busiest(name, "simulations")), "simulations") > 0)
        if axis not in COUNTED:
            wanted = int(wanted) - N_TOKENS  # what it would have spent without its last call
        elif not wanted:
            continue
        limit = int(share * wanted)
        amount, is_met = limited(name, where, f"{scope}.{axis}", limit, threads=threads, simulator=simulator)
        assert is_met, (axis, limit, wanted)
        if axis in COUNTED:  # one proposal is owed to every decision
            assert amount <= max(limit, (scope, axis) == ("decision", "proposals")), (axis, limit)
        else:  # 0.5 s: what the calls really take
            assert amount < limit + N_TOKENS + 0.5, (axis, limit)


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_counted_that_was_not_done_and_a_spent_budget_leaves_one_proposal_or_ends_it(name: str) -> None:
    for budget in ({}, {"decision.simulations": 1}, {"decision.tokens": 30}, {"decision.verifications": 2}):
        played = play("digger", STRATEGIES[name], budget=budget, n_decisions=6, **METERED)
        asked, verified = played.counts["agent"], played.counts["verifier"]
        expected = (asked, verified, played.counts["roles"], N_TOKENS * (asked + verified), len(played.actions))
        axes = ("proposals", "verifications", "asks", "prompt_tokens", "env_steps")
        assert tuple(sum(getattr(usage, axis) for usage in played.spent.values()) for axis in axes) == expected
        assert asked > 0
    for axis, threads in OVERDRAWN:
        played = play("digger", STRATEGIES[name], budget={f"decision.{axis}": 0}, n_tokens=N_TOKENS, threads=threads)
        assert len(played.actions) == 3 or played.actions[-1] == "dig"
        for decision in played.decisions:
            assert (decision.usage.proposals, decision.committed.feedback) == (1, None)
            assert f"overdraft: one proposal beyond decision.{axis}" in decision.notes
    limits = {"proposals": 4, "tokens": 35, "env_steps": 2, "seconds": 0}
    for scope, axis in product(("episode", "run"), limits):
        calls = Calls()
        how = {**STRATEGIES[name], "agent": Wanderer(calls, n_tokens=N_TOKENS, digs=False)}
        played = play("digger", how, budget={f"{scope}.{axis}": limits[axis]}, n_decisions=6)
        assert played.ended_by == f"{scope}.{axis}"  # `act` refuses before a decision
        assert dearest(played, axis, "episode") >= limits[axis]
        assert sum(usage.proposals for usage in played.spent.values()) == calls.counts["agent"]


def test_a_candidate_costs_what_its_agent_reports_too_and_a_run_budget_spans_episodes() -> None:
    """An agent that asks others to propose reports their proposals: they are charged, and its candidate shows them."""

    class Team:
        def propose(self, state: State, **_: Any) -> Candidate:
            return Candidate("dig", usage=Usage(proposals=2, prompt_tokens=5))

    decision = decide(agent=Team(), strategy="bon-sc", n=2)
    assert [one.usage._replace(seconds=0) for one in decision.candidates] == [Usage(proposals=3, prompt_tokens=5)] * 2
    assert (decision.usage.proposals, decision.usage.prompt_tokens) == (6, 10)
    env = Digger(max_steps=1)
    limits = {"run.proposals": 3, "episode.proposals": 2}
    with IADPolicyWrapper(Wanderer(), env, strategy="single", verifier=Hunch(), budget=limits) as policy:
        for episode in range(3):
            policy.act(*env.reset(seed=episode))
            assert policy.spent["agent"].proposals == 1
        with pytest.raises(BudgetExhausted, match=r"run\.proposals"):
            policy.act(*env.reset(seed=3))
        assert policy.usage.proposals == 3


def test_proposals_are_granted_in_part_and_verification_that_does_not_fit_is_refused_as_a_whole() -> None:
    budget = {"decision.proposals": 3, "decision.tokens": float("inf")}
    (decision,) = play("digger", {"strategy": "bon", "n": 5}, budget=budget, n_decisions=1).decisions
    assert (len(decision.candidates), decision.cut) == (3, "decision.proposals")
    assert all(candidate.verdict is not None for candidate in decision.candidates)
    (decision,) = play("digger", STRATEGIES["bon"], budget={"decision.verifications": 1}, n_decisions=1).decisions
    assert (decision.usage.verifications, decision.usage.simulations) == (0, 0)
    assert (decision.committed.verdict, decision.cut) == (None, "decision.verifications")
    # Verdicts paid before a measured cut are shown.
    budget = {"decision.verifier.tokens": 5}
    how = {"strategy": "bon", "agent": Wanderer(errors=0.0)}
    (decision,) = play("digger", how, verifier="apart", n_tokens=10, budget=budget, n_decisions=1).decisions
    assert decision.usage.verifications == 1
    assert [candidate.verdict is not None for candidate in decision.candidates] == [True, False, False]


def test_exhaustion_is_thrown_at_the_yield_and_can_be_survived_more_than_once() -> None:
    thrown: list[str] = []

    @per_step
    def persistent(here: State) -> Any:
        candidates = yield from Propose(here, 2)
        for request in (Propose(here, 1), Ask("critic", here), Verify(here, candidates), Propose(here, 1)):
            try:
                yield from request
            except BudgetExhausted as exhausted:
                thrown.append(exhausted.axis)
        return candidates[0]

    budget = {"decision.proposals": 2, "decision.verifications": 1, "decision.critic.asks": 0}
    played = play("digger", {"strategy": persistent, "agent": Wanderer(errors=0)}, budget=budget, n_decisions=1)
    assert thrown == [
        "decision.proposals", "decision.critic.asks", "decision.verifications", "decision.proposals",
    ]  # fmt: skip
    assert len(played.actions) == 1


@pytest.mark.parametrize("n_granted", [2, 0])  # with none, only one of many branches gets the overdraft
def test_a_branch_that_lets_exhaustion_out_is_none_and_the_others_go_on(n_granted: int) -> None:
    results: list[Any] = []

    def one(here: State) -> Any:
        return (yield from Propose(here, 1))[0]

    @per_step
    def parallel(here: State) -> Any:
        results[:] = yield from All([one(here) for _ in range(4)])
        return results[0] if n_granted == 0 else (yield from Propose(here, 1))[0]

    options: dict[str, Any] = {"budget": {"decision.proposals": n_granted}, "threads": 4, "n_decisions": 1}
    if n_granted:
        with pytest.raises(ContractError, match="catch BudgetExhausted"):
            play("digger", {"strategy": parallel}, **options)
    else:
        assert play("digger", {"strategy": parallel}, **options).counts["agent"] == 1
    n_made = n_granted or 1
    assert [result is None for result in results] == [False] * n_made + [True] * (4 - n_made)


def test_limits_that_make_no_sense_are_refused_with_the_known_names() -> None:
    refused: list[tuple[str, Any, str]] = [
        ("decision.proposals", -1, "0 or more"),
        ("run.usd", float("nan"), "0 or more"),
        ("run.usd", "a lot", "0 or more"),
        ("decision.guesses", 1, "proposals, verifications, simulations"),
        ("weekend.proposals", 1, "decision, episode, run"),
        ("decision.oracle.proposals", 1, "agent, verifier, critic"),
        ("decision.agent.judge.asks", 1, "scope"),
        ("proposals", 1, "decision, episode, run"),
    ]
    for name, limit, known in refused:
        with pytest.raises(ValueError, match=known):
            Budget({name: limit})
    with pytest.raises(ValueError, match="scope"):
        IADPolicyWrapper(Wanderer(), Digger(), verifier=Hunch(), budget={"decision.agent.judge.asks": 1})
