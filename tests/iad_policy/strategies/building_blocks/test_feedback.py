"""What agents are told, who answers without a model, and the tables of names."""

from typing import Any

import pytest

from iad_policy.agents import load_agent
from iad_policy.errors import UnknownName
from iad_policy.requests import Ask
from iad_policy.roles import ROLES, TemplateRoles
from iad_policy.strategies.building_blocks.feedback import (
    CHARS_PER_TOKEN,
    FORMS,
    SHOWN_TOKENS,
    fingerprint,
    load_feedback,
    truncated,
)
from iad_policy.strategies.building_blocks.stop import load_stop
from iad_policy.types import Candidate, Feedback, State, Turn, Verdict
from iad_policy.verifiers import load_verifier
from tests.contract.toy import Digger

HERE = State("start", {})
BEST = Candidate("the best", key="the best", thought="secret", verdict=Verdict(0.875, "well done"))
WORST = Candidate("the worst", key="the worst", verdict=Verdict(0.125, "poor"))


def form(name: str, best: Candidate = BEST, worst: Candidate | None = WORST) -> Any:
    generator = load_feedback(name)(HERE, best, worst)
    try:
        request = next(generator)
        assert isinstance(request, Ask)
        assert request.role == "critic"
        generator.send("Look left. " * 100)
    except StopIteration as stop:
        return stop.value


@pytest.mark.parametrize("name", list(FORMS))
def test_only_the_scalar_form_tells_a_score(name: str) -> None:
    feedback = form(name)
    if name == "none":
        assert feedback is None
        return
    assert ("0.875" in feedback.text) == (name == "scalar")
    assert "0.125" not in feedback.text
    assert feedback.best.verdict is None
    assert "the best" in feedback.text
    assert ("the worst" in feedback.text) == (feedback.worst is not None) == name.startswith("best-worst")
    assert feedback.worst is None or feedback.worst.verdict is None
    assert ("Look left." in feedback.text) == (feedback.critique != "") == name.endswith("judge")
    assert len(feedback.critique) <= 100 * CHARS_PER_TOKEN + 3


def test_best_alone_is_told_while_it_is_the_only_one() -> None:
    for worst in (None, BEST):
        feedback = form("best-worst", BEST, worst)
        assert feedback.text == "Best: the best"
        assert feedback.worst is None


def test_an_unparsable_candidate_is_told_by_its_error() -> None:
    assert "Worst: no JSON found" in form("best-worst", BEST, Candidate(None, error="no JSON found")).text


def test_long_candidates_are_truncated_without_a_tokenizer() -> None:
    long = Candidate("x" * 10_000, key="x")
    assert len(form("best-worst", long, None).text) < SHOWN_TOKENS * CHARS_PER_TOKEN + 20
    assert truncated("short", 3) == "short"


@pytest.mark.parametrize("name", ["scalar", "best-worst", "judge", "best-worst-judge"])
def test_a_form_s_name_may_say_how_much_is_shown(name: str) -> None:
    long, other = Candidate("x" * 10_000, key="x", verdict=Verdict(1.0)), Candidate("y" * 10_000, key="y")
    shown = form(f"{name}:20", long, other)
    assert ("x" * 20 * CHARS_PER_TOKEN + "...") in shown.text
    assert "x" * (20 * CHARS_PER_TOKEN + 1) not in shown.text
    assert "y" * (20 * CHARS_PER_TOKEN + 1) not in shown.text


def test_a_form_s_name_may_say_how_much_of_the_critique_is_shown() -> None:
    for name in ("judge:300:7", "best-worst-judge:300:7"):
        generator = load_feedback(name)(HERE, BEST, WORST)
        next(generator)
        with pytest.raises(StopIteration) as end:
            generator.send("c" * 1000)
        assert end.value.value.critique == "c" * 7 * CHARS_PER_TOKEN + "..."


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("none:3", "none,"),
        ("best-worst:0", "best-worst:<shown_tokens>,"),
        ("best-worst:300:100", "best-worst:<shown_tokens>,"),
        ("judge:many", "judge:<shown_tokens>:<critique_tokens>"),
        ("judge:1:2:3", "judge:<shown_tokens>:<critique_tokens>"),
        ("scalar:-1", "scalar:<shown_tokens>"),
    ],
)
def test_a_length_that_makes_no_sense_shows_the_form_s_name(name: str, form: str) -> None:
    with pytest.raises(ValueError, match=f"expected the feedback form {form}"):
        load_feedback(name)


def test_feedback_on_different_candidates_is_told_apart_where_its_text_is_the_same() -> None:
    one, other = (Feedback("Best: xxx...", best=Candidate(None, key=key)) for key in ("xxxa", "xxxb"))
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(None) == ""


def test_roles_without_a_model_answer_from_verdicts_and_templates() -> None:
    roles = TemplateRoles()
    assert roles.answer("ranker", HERE, [WORST, BEST]) == "1"
    assert roles.answer("judge", HERE, [BEST]) == "the best: 0.875. well done"
    assert "Cause: well done" in roles.answer("evaluator", HERE, [BEST])
    assert roles.answer("critic", HERE, BEST) == "well done"
    assert roles.answer("critic", HERE, Candidate("x"))
    path = State("end", {}, history=(Turn("a", "go"), Turn("b", "stop")))
    assert "go -> stop" in roles.answer("summariser", HERE, [path])
    assert "go -> stop" in roles.answer("reflector", HERE, path)
    assert "as it is" in roles.answer("paraphraser", HERE, "as it is") != "as it is"
    assert {roles.answer(role, HERE, [BEST]) != "" for role in ROLES} == {True}


def test_stop_rules_are_found_by_name() -> None:
    passed, scored = Candidate("x", verdict=Verdict(0.2, passed=True)), Candidate("x", verdict=Verdict(0.7))
    assert [load_stop("never")(one) for one in (passed, scored)] == [False, False]
    assert [load_stop("finalise")(one) for one in (passed, scored)] == [True, False]
    assert [load_stop("score:0.7")(one) for one in (passed, scored, Candidate("x"))] == [False, True, False]


@pytest.mark.parametrize(
    ("load", "known"),
    [
        (lambda: load_feedback("x"), "best-worst"),
        (lambda: load_stop("score:"), "score:X"),
        (lambda: load_stop("score:high"), "score:X"),
        (lambda: load_agent("nobody", Digger()), "random"),
        (lambda: load_verifier("nobody", Digger()), "oracle"),
        (lambda: load_verifier("proxy", Digger()), "proxy of IAD/WebShop-v0"),
    ],
)
def test_unknown_names_list_the_known_ones(load: Any, known: str) -> None:
    with pytest.raises(UnknownName, match=known):
        load()


def test_agents_and_verifiers_are_found_by_module_and_class() -> None:
    assert load_verifier("iad_policy.verifiers.oracle:OracleVerifier", Digger()).information == "oracle"
    assert load_agent("iad_policy.agents.random:RandomAgent", Digger())
    with pytest.raises(TypeError, match="expected an agent's name"):
        load_agent(7, Digger())  # type: ignore[arg-type]
