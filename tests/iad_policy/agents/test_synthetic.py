"""Agents whose errors are known, and what strategies make of them: held to what can be worked out by hand."""

import json
import re
from math import comb
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import Candidate, Feedback, IADPolicyWrapper, State
from iad_policy.agents import GONE, asks_a_model, load_agent
from iad_policy.agents.synthetic import Rates, SyntheticAgent, solution_agent
from iad_policy.errors import GoldError, GoneAgent
from iad_policy.ledger.run import Run
from iad_policy.report.viewer.shown import run_json
from iad_policy.types import Said, ShownAttempt
from tests.command_line import iad
from tests.contract.toy import Digger
from tests.iad_policy.closed_forms import BETA, PERFECT, RHO, Cell, cells, fits, made
from tests.iad_policy.playing import play
from tests.iad_policy.quiz import Quiz, answer, n_solved

N_TRIALS = 200
CELLS = cells((2, 4))
ONE_EACH = (
    *("noisy-bon-perfect-4", "responsive-iad-judge-perfect-4", "responsive-iad-none-perfect-4"),
    *("stubborn-iad-perfect-4", "over-self-refine-unasked-4", "over-sk2code-feedback-perfect-4"),
    *("noisy-bon-a=0.8 b=0.3-4", "responsive-iad-above 0.25-4"),
)
"""One cell of each form and each kind of agent, in `make test`; `make test-full` has all."""
RIGHT = lambda state, rng: answer(state)  # noqa: E731
CONFIDENCE = 1 - 0.01 / len(CELLS)
"""Of each cell, so that all of them together are inside by chance in 99 of 100 draws of the seeds (Bonferroni)."""


@pytest.mark.parametrize(
    "cell",
    [pytest.param(one, marks=() if str(one) in ONE_EACH else pytest.mark.slow) for one in CELLS],
    ids=map(str, CELLS),
)
def test_a_strategy_reaches_its_closed_form(cell: Cell) -> None:
    solved = cell.n_solved(N_TRIALS)
    assert fits(solved, N_TRIALS, cell.expected, confidence=CONFIDENCE), (solved / N_TRIALS, cell.expected)


def test_diversity_is_what_a_vote_needs() -> None:
    """Mistakes that are all alike outvote the right answer; mistakes that differ don't."""
    alike, various = (n_solved(made("noisy", f"tau={tau}"), None, 100, strategy="bon-sc", n=7) for tau in (0, 1))
    right = sum(comb(7, k) * 0.4**k * 0.6 ** (7 - k) for k in range(4, 8))
    assert fits(alike, 100, right, confidence=0.99)
    assert various > alike + 20


@pytest.mark.parametrize(("shown_right", "expected"), [(True, BETA), (False, RHO)])
def test_a_review_breaks_a_share_beta_of_an_over_reflectors_right_answers(shown_right: bool, expected: float) -> None:
    def reviewed(agent: SyntheticAgent, place: int, shown: str) -> bool:
        """Whether the answer is right after a review of a right or a wrong one."""
        state = State("?", {"available_actions": [f"answer[{k}]" for k in range(20)]}, gold={"reference": "answer[3]"})
        attempt = ShownAttempt(Candidate(shown), "best", said=(Said("review", "answer it better"),))
        told = Feedback("", (attempt,), best=attempt.candidate)
        return agent.propose(state, feedback=told, temperature=None, rng=Random(place)).action == "answer[3]"

    agent, shown = made("over"), "answer[3]" if shown_right else "answer[4]"
    changed = sum(reviewed(agent, place, shown) != shown_right for place in range(400))
    assert fits(changed, 400, expected, confidence=0.99)
    assert all(reviewed(made("responsive", "beta=0"), place, "answer[3]") for place in range(20))


@pytest.mark.parametrize("name", GONE)
def test_a_name_that_is_gone_says_what_replaces_it(name: str) -> None:
    assert not asks_a_model(name)
    with pytest.raises(GoneAgent, match=rf"{name}.* is gone.*{re.escape(GONE[name])}"):
        load_agent(f"{name}:tau=0", Quiz())
    if GONE[name].startswith("solution:0"):
        assert load_agent(GONE[name], Quiz()).rates.epsilon == 0.5


def test_without_a_domain_it_follows_the_oracles_solution_and_inside_another_agent_it_keeps_its_label() -> None:
    for rate in (0, 1):
        env = Digger()
        with IADPolicyWrapper(f"plan-following:solution:{rate}", env, strategy="single") as policy:
            assert play(env, policy, seed=0)[2]["success"] == (rate == 0)
            assert policy.agent.information == "oracle"  # type: ignore[attr-defined]
    assert load_agent("plan-following:random", env).information == ""


def test_gold_is_shown_to_a_labelled_agent_alone_and_kept_by_nobody() -> None:
    seen = []

    class Peeper:
        def propose(self, state: State, **_: Any) -> Any:
            seen.append(state.gold)
            with pytest.raises(GoldError):
                state.info["success"]
            return instrument.propose(State("", state.info, gold={"reference": "answer[1]"}), **_)

    instrument = made("noisy")
    env = Quiz()
    for agent in (Peeper(), instrument):
        with IADPolicyWrapper(agent, env, verifier=PERFECT, strategy="iad") as policy:
            observation, info = env.reset(seed=0)
            env.step(policy.act(observation, info))
            assert policy.decisions[0].state.gold is None
    assert seen == [None] * 3


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: load_agent("solution:eps=0.5", Quiz()), r"got 'eps'.*beta, epsilon, rho, sigma, stubborn, tau"),
        *(
            (lambda rates=rates: load_agent(f"solution:{rates}", Quiz()), "rate")
            for rates in ("2", "half", "epsilon=2", "tau=-1", "tau=nan", "0.5:sigma", "0.5:0.5")
        ),
        (lambda: load_agent("solution", gym.make("CartPole-v1")), "known right action"),
        (lambda: solution_agent(None, gold=answer), "pass env or mistakes"),
        (lambda: n_solved(SyntheticAgent(Quiz(), Rates()), PERFECT, 4, strategy="single"), "got '0'; pass gold="),
        (
            lambda: n_solved(solution_agent(None, "1", gold=answer, mistakes=RIGHT), PERFECT, 1, strategy="single"),
            "pass mistakes=",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(call: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


ALONE = ("--verifier", "none", "--strategy", "single", "--tasks", 1)


def test_a_table_says_that_its_agent_knows_gold(tmp_path: Path) -> None:
    for agent, said in (("solution:0.5", True), ("random", False)):
        out = tmp_path / agent.partition(":")[0]
        done = iad("run", "IAD/BIRD-v0", "--agent", agent, *ALONE, "--out", out)
        assert done.exit_code == 0, done.output
        assert (f"*** {agent} is an oracle agent" in done.stdout) == said
        summary, head = json.loads((out / "summary.json").read_text()), run_json(Run(out))
        assert [alarm.partition(" ")[0] for alarm in summary["alarms"]] == ([agent] if said else [])
        assert (head["alarms"], head["strategies"]) == (summary["alarms"], summary["strategies"])  # intervals too
