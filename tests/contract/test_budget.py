"""Budgets: what is granted, what is cut, and what a strategy does about it."""

from typing import Any

import pytest

from iad_policy import All, Ask, Budget, IADPolicyWrapper, Propose, State, Verify, per_step
from iad_policy.errors import BudgetExhausted, ContractError
from tests.contract.players import STRATEGIES, Hunch, Wanderer, play
from tests.contract.toy import Digger

ALL = list(STRATEGIES)


def spent(played: Any, axis: str, role: str | None = None) -> float:
    roles = [role] if role else list(played.spent)
    return sum(getattr(played.spent[name], axis) for name in roles if name in played.spent)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_counted_limit_is_never_passed(name: str, limit: int, threads: int) -> None:
    for axis in ("proposals", "verifications", "simulations", "asks"):
        played = play("digger", STRATEGIES[name], budget={f"decision.{axis}": limit}, threads=threads, n_decisions=6)
        assert all(getattr(decision.usage, axis) <= limit for decision in played.decisions)
        cuts = {decision.cut for decision in played.decisions}
        assert cuts <= {"", f"decision.{axis}"}


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_counted_that_was_not_done(name: str) -> None:
    for budget in ({}, {"decision.simulations": 1}, {"decision.tokens": 30}, {"decision.verifications": 2}):
        played = play("digger", STRATEGIES[name], verifier="apart", n_tokens=10, budget=budget, n_decisions=6)
        assert spent(played, "proposals") == played.counts["agent"]
        assert spent(played, "verifications") == played.counts["verifier"]
        assert spent(played, "asks") == played.counts["roles"]
        assert spent(played, "prompt_tokens") == 10 * (played.counts["agent"] + played.counts["verifier"])
        assert spent(played, "env_steps") == len(played.actions)


def test_proposals_are_granted_in_part() -> None:
    (decision,) = play("digger", {"strategy": "bon", "n": 5}, budget={"decision.proposals": 3}, n_decisions=1).decisions
    assert len(decision.candidates) == 3
    assert decision.cut == "decision.proposals"
    assert all(candidate.verdict is not None for candidate in decision.candidates)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("axis", ["proposals", "tokens", "seconds", "agent.proposals", "agent.prompt_tokens"])
def test_a_decision_without_budget_gets_one_plain_proposal_and_says_so(name: str, axis: str, threads: int) -> None:
    played = play("digger", STRATEGIES[name], budget={f"decision.{axis}": 0}, n_tokens=10, threads=threads)
    assert len(played.actions) == 3 or played.actions[-1] == "dig"
    for decision in played.decisions:
        assert decision.usage.proposals == 1
        assert decision.committed.feedback is None
        assert f"overdraft: one proposal beyond decision.{axis}" in decision.notes


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("limit", [1, 15, 20, 35])
def test_a_measured_limit_is_passed_by_one_call_at_most(name: str, limit: int, threads: int) -> None:
    options = {"verifier": "apart", "n_tokens": 10, "threads": threads, "n_decisions": 6}
    for budget in ({"decision.tokens": limit}, {"decision.agent.prompt_tokens": limit}, {"decision.seconds": limit}):
        for decision in play("digger", STRATEGIES[name], budget=budget, **options).decisions:
            role = decision.budget["agent"] if "decision.agent.prompt_tokens" in budget else decision.usage
            axis = next(iter(budget)).rpartition(".")[2]
            assert getattr(role, axis) < limit + 10 + 0.5


@pytest.mark.parametrize("scope", ["episode", "run"])
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("axis", "limit"), [("proposals", 4), ("tokens", 35), ("env_steps", 2), ("seconds", 0)])
def test_act_refuses_before_a_decision_when_episode_or_run_are_spent(
    name: str, axis: str, limit: int, scope: str
) -> None:
    played = play("digger", STRATEGIES[name], budget={f"{scope}.{axis}": limit}, n_tokens=10, n_decisions=6)
    if played.ended_by:
        assert played.ended_by == f"{scope}.{axis}"
        assert sum(getattr(decision.usage, axis) for decision in played.decisions) >= limit
        assert spent(played, "proposals") == played.counts["agent"]
    else:
        assert played.actions[-1] == "dig"


def test_a_run_budget_spans_episodes_and_an_episode_budget_does_not() -> None:
    env = Digger(max_steps=1)
    limits = {"run.proposals": 3, "episode.proposals": 2}
    with IADPolicyWrapper(Wanderer(), env, strategy="single", verifier=Hunch(), budget=limits) as policy:
        for episode in range(3):
            policy.act(*env.reset(seed=episode))
            assert policy.spent["agent"].proposals == 1
        with pytest.raises(BudgetExhausted, match=r"run\.proposals"):
            policy.act(*env.reset(seed=3))
        assert policy.usage.proposals == 3


def test_a_role_is_limited_by_itself() -> None:
    played = play("digger", STRATEGIES["iad-fb"], budget={"decision.critic.asks": 1}, n_decisions=1)
    (decision,) = played.decisions
    assert decision.cut == "decision.critic.asks"
    assert decision.budget["critic"].asks == 1
    assert decision.usage.proposals == 2


def test_verification_that_does_not_fit_is_refused_as_a_whole() -> None:
    (decision,) = play("digger", STRATEGIES["bon"], budget={"decision.verifications": 1}, n_decisions=1).decisions
    assert decision.usage.verifications == 0
    assert decision.usage.simulations == 0
    assert decision.committed.verdict is None
    assert decision.cut == "decision.verifications"


def test_verdicts_paid_before_a_measured_cut_are_shown_in_the_decision() -> None:
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


def test_a_branch_that_lets_exhaustion_out_is_none_and_the_others_go_on() -> None:
    results: list[Any] = []

    def one(here: State) -> Any:
        return (yield from Propose(here, 1))[0].action

    @per_step
    def parallel(here: State) -> Any:
        results.extend((yield from All([one(here) for _ in range(4)])))
        (candidate,) = yield from Propose(here, 1)
        return candidate

    with pytest.raises(ContractError, match="catch BudgetExhausted"):
        play("digger", {"strategy": parallel}, budget={"decision.proposals": 2}, threads=4)
    assert [result is None for result in results] == [False, False, True, True]


def test_only_one_of_many_branches_gets_the_overdraft() -> None:
    results: list[Any] = []

    def one(here: State) -> Any:
        return (yield from Propose(here, 1))[0]

    @per_step
    def parallel(here: State) -> Any:
        results[:] = yield from All([one(here) for _ in range(4)])
        return results[0]

    played = play("digger", {"strategy": parallel}, budget={"decision.proposals": 0}, threads=4, n_decisions=1)
    assert played.counts["agent"] == 1
    assert [result is None for result in results] == [False, True, True, True]


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        ({"decision.proposals": -1}, "a limit of 0 or more"),
        ({"run.usd": float("nan")}, "a limit of 0 or more"),
        ({"run.usd": "a lot"}, "a limit of 0 or more"),
        ({"decision.guesses": 1}, "proposals, verifications, simulations"),
        ({"weekend.proposals": 1}, "decision, episode, run"),
        ({"decision.oracle.proposals": 1}, "agent, verifier, critic"),
        ({"decision.agent.judge.asks": 1}, "scope"),
        ({"proposals": 1}, "decision, episode, run"),
    ],
)
def test_limits_that_make_no_sense_are_refused_with_the_known_names(limits: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        Budget(limits)
    with pytest.raises(ValueError, match=error):
        IADPolicyWrapper(Wanderer(), Digger(), verifier=Hunch(), budget=limits)


def test_an_infinite_limit_is_one() -> None:
    played = play("digger", STRATEGIES["iad"], budget={"decision.proposals": float("inf")}, n_decisions=1)
    assert played.decisions[0].cut == ""
