"""ARTIS with canned answers: who is told what, and what is left where the budget ends."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count, pairwise
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import Ask, Candidate, Commit, IADPolicyWrapper, Propose, Simulate, State, Verdict, Verify
from iad_policy.errors import BudgetExhausted
from iad_policy.roles.templates import ToldAttempt, evaluation_of, summary_of
from iad_policy.strategies import load_strategy
from iad_policy.strategies.artis import REAL
from iad_policy.strategies.building_blocks.attempts import best_plan, passes
from iad_policy.types import Move, PlannedActions, Turn
from tests.contract.canned import drive
from tests.iad_policy.playing import play

START = State("start", {}, id="start")


class Rehearsal:
    """Answers requests: actions are `a1, a2 ...` in the order they are proposed, an attempt is over after `length`.

    `verdicts` are what the evaluator says of each attempt in turn; the last one is repeated. `spent_from` says which
    kind of request, or which role, the budget does not cover, and from which one on (counted from 1).
    """

    def __init__(self, *, length: int = 2, verdicts: Sequence[str] = ("fail",), spent_from: Any = (None, 0)) -> None:
        self.asked, self.commits = list[Any](), list[Any]()
        self._length, self._verdicts, self._spent = length, list(verdicts), spent_from
        self._names = (f"a{n}" for n in count(1))

    def run(self, *, n_commits: int = 1, **options: Any) -> "Rehearsal":
        answers = dict.fromkeys((Propose, Simulate, Verify, Ask, Commit), self._answer)
        self.commits = drive(load_strategy("artis", **options)(START), answers, n_commits=n_commits)
        return self

    def of(self, kind: Any) -> list[Any]:
        """What was asked of a kind, or of a role."""
        return [one for one in self.asked if kind in (type(one), getattr(one, "role", ""))]

    def told(self) -> list[str]:
        """The notes of all proposals at the real state, also of each attempt's first."""
        return ["\n".join(one.at.notes) for one in self.of(Propose) if not one.at.path]

    def _answer(self, request: Any) -> Any:
        self.asked.append(request)
        kind, limit = self._spent
        if request in self.of(kind)[-1:] and len(self.of(kind)) >= limit:
            raise BudgetExhausted("decision.test")
        match request:
            case Propose():
                action = next(self._names)
                return [Candidate(action, key=action)]
            case Simulate(at=at, candidate=candidate):
                history = (*at.history, Turn(at.observation, candidate.action))
                path = (*at.path, Move(candidate.action, 0))
                return replace(at, observation="there", history=history, path=path, done=len(path) >= self._length)
            case Verify():
                return [replace(one, verdict=Verdict(0.5)) for one in request.candidates]
            case Ask(role="summariser"):
                return "the summary"
            case Ask():
                said = self._verdicts.pop(0) if len(self._verdicts) > 1 else self._verdicts[0]
                return f"Verdict: {said}\nCause: none"
        return replace(START, id=f"real{len(self.of(Commit))}")


def test_always_n_attempts_each_evaluated_one_summary_and_one_execution() -> None:
    seen = Rehearsal(verdicts=("pass",)).run(n=3)
    assert (len(seen.of("evaluator")), len(seen.of("summariser")), len(seen.of(Simulate))) == (3, 1, 6)
    assert (seen.commits, seen.told()[-1]) == (["a7"], f"{REAL}\nthe summary")
    assert seen.of(Propose)[-1].at.plan == PlannedActions(0, ("a1", "a2"))


def test_a_sequential_attempt_is_told_of_all_before_it_and_a_parallel_one_of_none() -> None:
    seen = Rehearsal(verdicts=("fail", "pass", "fail")).run(n=3)
    first, second, third = seen.told()[:3]
    assert first == ""
    assert [part in second for part in ("Attempt 1", "Verdict: fail", "Attempt 2")] == [True, True, False]
    assert all(part in third for part in ('Actions 1-2: ["a3", "a4"]', "Verdict: pass"))
    apart = Rehearsal().run(n=3, mode="parallel")
    assert (apart.told()[:3], len(apart.of("evaluator"))) == ([""] * 3, 3)


def test_attempts_go_on_until_depth_the_summary_is_told_at_every_step_and_every_k_commits_is_simulated_anew() -> None:
    seen = Rehearsal(length=9).run(n=2, depth=4, n_commits=3)
    assert (len(seen.of(Simulate)), len(seen.of("summariser"))) == (8, 1)
    assert seen.told()[-3:] == [f"{REAL}\nthe summary"] * 3
    seen = Rehearsal().run(n=2, every=2, n_commits=4)
    assert (len(seen.of(Simulate)), len(seen.of("summariser"))) == (8, 2)
    assert seen.of("summariser")[1].at.id == "real2"


@pytest.mark.parametrize(
    ("left_out", "roles", "advice"),
    [
        *(("evaluate", "summariser", "the summary"), ("summarise", "evaluator evaluator", "Verdict: fail")),
        ("evaluate summarise", "", "At the end: there"),
        ("verify", "evaluator evaluator summariser", "the summary"),  # an evaluator needs no verifier
    ],
)
def test_the_ablations_leave_out_what_they_name(left_out: str, roles: str, advice: str) -> None:
    seen = Rehearsal().run(n=2, **dict.fromkeys(left_out.split(), False))
    assert [ask.role for ask in seen.of(Ask)] == roles.split()
    last = seen.told()[-1]
    assert advice in last
    assert ("Attempt 2" in last) == ("summariser" not in roles)
    assert ("Verdict" in last) == (left_out == "summarise")
    assert bool(seen.of(Verify)) == ("evaluator" in roles and left_out != "verify")


def test_the_naive_loop_ends_with_the_first_attempt_that_passes_and_tells_it_alone() -> None:
    seen = Rehearsal(verdicts=("fail", "pass")).run(n=5, until_pass=True)
    assert len(seen.of(Ask)) == 2
    assert [part in seen.told()[-1] for part in ("Verdict: pass", "Verdict: fail")] == [True, False]
    assert len(Rehearsal().run(n=3, until_pass=True).of(Ask)) == 3


def test_options_that_make_no_sense_are_refused() -> None:
    for options in ({"mode": "both"}, {"depth": 0}, {"every": 0}, {"until_pass": True, "mode": "parallel"}):
        with pytest.raises(ValueError, match="expected"):
            Rehearsal().run(**options)


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_cut_before_anything_was_simulated_the_first_proposal_is_committed_or_a_plain_one(mode: str) -> None:
    seen = Rehearsal(spent_from=(Simulate, 1)).run(n=3, mode=mode)
    assert (seen.of(Ask), seen.told()[-1]) == ([], "")
    assert Rehearsal(spent_from=(Propose, 2)).run(n=3, mode=mode).commits == ["a1"]


@pytest.mark.parametrize(
    ("length", "spent_from", "evaluation"),
    [(4, (Simulate, 3), "Verdict: fail\nCause: none"), *((2, (what, 1), "") for what in (Verify, "evaluator"))],
)
def test_cut_in_the_first_attempt_what_there_was_is_told(length: int, spent_from: Any, evaluation: str) -> None:
    seen = Rehearsal(length=length, spent_from=spent_from).run(n=1)
    (summariser,) = seen.of("summariser")
    ((end, said),) = summariser.subject
    assert ([turn.action for turn in end.history], said) == (["a1", "a2"], evaluation)
    untold = Rehearsal(length=length, spent_from=spent_from).run(n=1, summarise=False)
    assert 'Actions 1-2: ["a1", "a2"]' in untold.told()[-1]


def test_cut_before_the_summary_the_attempts_are_told_themselves() -> None:
    seen = Rehearsal(verdicts=("fail", "pass"), spent_from=("summariser", 1)).run(n=2)
    assert all(part in seen.told()[-1] for part in (REAL, "Attempt 1", "Attempt 2", "Verdict: pass"))
    assert seen.of(Propose)[-1].at.plan == PlannedActions(0, ("a3", "a4"))
    # Cut before the execution, the first action of what passed is committed.
    for verdicts, action in ((("fail", "pass"), "a3"), (("fail",), "a1")):
        assert Rehearsal(verdicts=verdicts, spent_from=(Propose, 5)).run(n=2).commits == [action]


OVER = State("end", {}, done=True)
OPEN = State("on the way", {})


def test_a_models_evaluation_is_read_however_it_is_decorated_and_without_a_model_the_verdict_evaluates() -> None:
    for text, expected in (
        *(("Verdict: pass\nCause: fine", True), ("**Verdict:** PASS.", True), ("Verdict (final): passed", True)),
        *(("I doubt it.\nVerdict: **Failed**", False), ("fail", False), ("", None)),
        ("verdict: fail, though it could pass", None),
        ("The attempt was nice and long and nobody can say whether it will pass or fail.", None),
    ):
        assert passes(text) is expected, text
    for verdict, preview, is_passed in (
        *((Verdict(0.1, passed=True), OVER, True), (Verdict(0.9, passed=True), OPEN, False), (None, OVER, False)),
        *((Verdict(0.9, passed=False), OVER, False), (Verdict(0.6), OVER, True), (Verdict(0.4), OVER, False)),
        *((Verdict(0.9), OPEN, False), (Verdict(0.9), None, False)),
    ):
        evaluation = evaluation_of(Candidate("a", verdict=verdict, preview=preview))
        assert passes(evaluation) is is_passed, (verdict, preview)


def test_the_plan_is_the_best_scored_attempt_that_passed() -> None:
    def attempt(action: str, verdict: Verdict) -> ToldAttempt:
        said = evaluation_of(Candidate("x", verdict=verdict, preview=OVER))
        return ToldAttempt(f"about {action}", PlannedActions(3, (action, 7)), said)

    attempts = [attempt("poor", Verdict(0.6)), attempt('"good"\n', Verdict(1.4)), attempt("bad", Verdict(0.2))]
    plans = [(one.plan, one.evaluation) for one in attempts]
    assert (best_plan(plans), best_plan(plans[2:])) == ((3, ('"good"\n', 7)), None)
    assert summary_of(attempts).endswith('- about bad\nPlan, actions 4-5: ["\\"good\\"\\n", 7]')
    assert "Plan" not in summary_of(attempts[2:])


@pytest.mark.parametrize(
    ("env_id", "mode", "given"),
    [
        ("IAD/WebShop-v0", "parallel", {"simulator": "noisy:0.7"}),
        ("IAD/BFCL-v0", "sequential", {}),
        ("IAD/ACEBench-v0", "parallel", {}),
        pytest.param("IAD/Booking-v0", "sequential", {}, marks=pytest.mark.slow),
    ],
)
def test_an_agent_that_follows_plans_plans_anew_where_a_user_spoke(env_id: str, mode: str, given: Any) -> None:
    env = gym.make(env_id, **({"category": "agent_multi_turn"} if "ACE" in env_id else {}))
    with IADPolicyWrapper("plan-following", env, strategy="artis", n=2, mode=mode, **given) as policy:
        for task_id in env.unwrapped.task_ids[:2]:  # type: ignore[attr-defined]
            play(env, policy, options={"task_id": task_id})
            first = policy.decisions[0]
            assert (first.budget["evaluator"].asks, first.budget["summariser"].asks) == (2, 1)
            for before, after in pairwise(policy.decisions):
                is_said = str(before.committed.action).startswith(("ASK", "reply["))  # which a user answers
                assert (after.usage.asks > 0) == is_said
    env.close()


def test_a_plan_following_agent_does_what_the_plan_says_and_gives_it_up_where_it_was_refused() -> None:
    env = gym.make("IAD/WebShop-v0", max_steps=4)
    plan = PlannedActions(0, ("search[tea]", "click[no such thing]", "search[never]"))

    def planned(here: State) -> Any:
        while not here.done:
            here = yield from Commit((yield from Propose(here.planned(plan), 1))[0])

    with IADPolicyWrapper("plan-following:shopper", env, strategy=planned) as policy:
        actions, *_ = play(env, policy, options={"task_id": "test-0001"})
    assert actions[:2] == ["search[tea]", "click[no such thing]"]
    assert "search[never]" not in actions
