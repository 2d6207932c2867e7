"""The proxy verifier of tool calls: each of its rules, and what its scores are worth."""

from random import Random

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.toolcalls.policy.agent import ToolCallAgent
from iad_envs.toolcalls.policy.verifier import PENALTIES, SERVED, UNSERVED, CallVerifier
from iad_policy import Candidate, IADPolicyWrapper
from iad_policy.verifiers import load_verifier
from tests.iad_envs.toolcalls.policy.talks import Talk

SEEDS = "multi_turn_base_1"
"""`Move the note 'choir' into the folder 'garden'.`, then `Count the seeds of fennel.`"""
MOVE = "[move_note(title='choir', folder='garden')]"


def test_it_is_a_proxy_that_needs_a_preview_and_takes_nothing_else() -> None:
    loaded = load_verifier("proxy", gym.make("IAD/BFCL-v0"))
    assert (loaded.information, loaded.needs_preview) == ("proxy", True)
    with pytest.raises(ValueError, match=r"a preview of 'reply\[Hm\]'"):
        CallVerifier().verify(Talk(SEEDS).state, [Candidate("reply[Hm]")])


@pytest.mark.parametrize("action", ["Well, let me think.", "[move_note('choir')]", "[f(", ""])
def test_an_invalid_response_scores_nothing_and_hears_why(action: str) -> None:
    found = Talk(SEEDS).verdict(action)
    assert found.score == 0.0
    assert "expected" in found.critique


def test_a_reply_loses_while_something_is_not_done() -> None:
    talk = Talk(SEEDS)
    found = talk.verdict("reply[Done.]")
    assert found.score == UNSERVED
    assert "move_note may serve it" in found.critique
    assert 0.8 * SERVED < talk.did(MOVE).verdict("reply[Done.]").score <= SERVED
    assert talk.verdict("[search_notes(words='choir')]").score < UNSERVED


def test_a_reply_is_worth_what_was_done_in_the_turn() -> None:
    right = Talk(SEEDS).did(MOVE).verdict("reply[Done.]").score
    stumbled = Talk(SEEDS).did("[move_note(title='choirs', folder='garden')]", MOVE).verdict("reply[Done.]").score
    wrong = Talk(SEEDS).did("[remove_note(title='choir')]").verdict("reply[Done.]")
    assert wrong.score < 0.5 < stumbled < right
    beside = Talk(SEEDS).did(MOVE, "[write_note(title='choir', text='x')]").verdict("reply[Done.]")
    assert beside.score < right
    assert "write_note was not asked for like this." in beside.critique


@pytest.mark.parametrize(
    ("action", "code"),
    [
        ("[move_note(title='choir', folder='no such folder')]", "tool_error"),
        ("[move_notes(title='choir', folder='garden')]", "unknown_function"),
        ("[move_note(title='choir')]", "missing_argument"),
        ("[move_note(title='choir', folder='garden', now=True)]", "unknown_argument"),
        ("[move_note(title='choir', folder=['garden'])]", "wrong_type"),
        ("[search_notes(words='accordion')]", "ungrounded_argument"),
    ],
)
def test_what_is_found_takes_off_its_share(action: str, code: str) -> None:
    talk = Talk(SEEDS)
    preview = talk.tried(action).preview
    assert preview is not None
    assert code in [one["code"] for one in preview.info["facts"]["findings"]]
    assert talk.verdict(action).score <= max(0.0, 1.0 - PENALTIES[code])
    assert talk.verdict(MOVE).score == 1.0


def test_a_function_or_an_argument_that_fits_worse_scores_lower_though_it_works() -> None:
    talk = Talk(SEEDS)
    right = talk.verdict(MOVE).score
    other = talk.verdict("[tag_note(title='choir', tag='garden')]")
    assert UNSERVED < other.score < right
    assert "may fit better" in other.critique or "does not fit" in other.critique
    talk.did(MOVE, "reply[Done.]")
    assert (
        talk.verdict("[find_plantings(species='fennel')]").score < talk.verdict("[count_seeds(species='fennel')]").score
    )


def test_the_next_right_call_scores_higher_than_most_others_that_the_agent_draws() -> None:
    won = lost = 0
    for number in (1, 2, 3, 9, 13, 14, 18, 21):
        talk = Talk(f"multi_turn_base_{number}")
        for gold in talk.reference:
            rng = Random(number)
            drawn = {
                ToolCallAgent().propose(talk.state, feedback=None, temperature=5.0, rng=rng).action for _ in range(6)
            }
            key = talk.env.action_key
            others = [action for action in drawn if key(action) != key(gold)]
            score = talk.verdict(gold).score
            for action in others:
                won, lost = won + (score > talk.verdict(action).score), lost + (score < talk.verdict(action).score)
            talk.did(gold)
    assert won > 4 * lost


def test_answers_score_the_probability_that_they_are_right() -> None:
    pairs = []
    for kind in ("simple_python", "multiple", "parallel", "irrelevance"):
        for number in range(0, 24, 2):
            talk = Talk(f"{kind}_{number}")
            action = ToolCallAgent().propose(talk.state, feedback=None, temperature=1.0, rng=Random(number)).action
            score = talk.verdict(action).score
            pairs.append((score, bool(talk.did(action).gold["success"])))
    mean = sum(score for score, _ in pairs) / len(pairs)
    rate = sum(success for _, success in pairs) / len(pairs)
    assert mean == pytest.approx(rate, abs=0.15)
    low = [success for score, success in pairs if score < 0.4]
    assert sum(low) <= 0.25 * len(low)


def test_the_best_of_five_is_right_more_often_than_one() -> None:
    won = {}
    for strategy in ("single", "bon"):
        env = gym.make("IAD/BFCL-v0", category="parallel", split="train")
        with IADPolicyWrapper("caller", env, strategy=strategy, n=5, verifier="proxy") as policy:
            won[strategy] = 0
            for task_id in env.unwrapped.task_ids:  # type: ignore[attr-defined]
                observation, info = env.reset(options={"task_id": task_id})
                *_, info = env.step(policy.act(observation, info))
                won[strategy] += bool(info["success"])
    assert won["bon"] > won["single"]
