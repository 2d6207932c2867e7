"""What agents are told, and who answers without a model."""

import re
from dataclasses import replace
from typing import Any

import pytest

from iad_envs.bash.policy.rendering import ShellRendering
from iad_envs.webshop.policy.rendering import ShopRendering
from iad_policy.prompts.feedback import feedback_text
from iad_policy.prompts.rendering import Rendering
from iad_policy.requests import Ask, Simulate
from iad_policy.roles import TemplateRoles
from iad_policy.strategies.building_blocks.feedback_forms import FORMS, about_last, fingerprint, load_feedback
from iad_policy.types import DIFFER, Candidate, Feedback, Said, State, Turn, Verdict
from iad_policy.types.names import ROLES
from iad_policy.types.texts import CHARS_PER_TOKEN, truncated

HERE = State("start", {})
BEST = Candidate("the best", key="the best", thought="secret", verdict=Verdict(0.875, "well done"))
WORST = Candidate("the worst", key="the worst", verdict=Verdict(0.125, "poor"))


def form(name: str, *tried: Candidate, here: State = HERE, words: Rendering | None = None, delta: float = 0.0) -> Any:
    """The feedback of a form in an environment's words; the critic and the environment answer in canned words."""
    generator = load_feedback(name)(here, tried or (BEST, WORST), delta)
    answer: Any = None
    try:
        while True:
            request = generator.send(answer)
            if isinstance(request, Ask):
                assert request.role == "critic"
                answer = "Look left. " * 100
            else:
                assert isinstance(request, Simulate)
                answer = State(f"after {request.candidate.key}", {}, key=f"after {request.candidate.key}")
    except StopIteration as stop:
        feedback = stop.value
        return feedback and replace(feedback, text=feedback_text(feedback, words or Rendering()))


@pytest.mark.parametrize("name", list(FORMS))
def test_only_the_scalar_form_tells_a_score(name: str) -> None:
    feedback = form(name)
    if name == "none":
        assert feedback is None
        return
    shown = [one in feedback.text for one in ("0.875", "0.125", "the best", "the worst")]
    assert shown == [name == "scalar", False, name != "hints", name not in ("scalar", "judge", "hints")]
    told = [feedback.best, *([feedback.worst] if feedback.worst else []), *feedback.tried]
    assert all(one.verdict is None for one in told)
    assert ("Look left." in feedback.text) == (feedback.critique != "") == name.endswith("judge")


def test_best_alone_is_told_while_it_is_the_only_one_and_of_equally_bad_ones_the_newest() -> None:
    for alone in ((BEST,), (BEST, BEST)):
        feedback = form("best-worst", *alone)
        assert (feedback.text, feedback.worst) == ("Best: the best", None)
    tied = [Candidate(name, key=name, verdict=Verdict(0.5)) for name in "abc"]
    assert form("best-worst", *tied).text == "Best: a\nWorst: c"


SCORED = [
    *(([0.1, 0.5, 0.4], 0.0, "b", "c"), ([0.1, 0.5, 0.7], 0.0, "c", "b")),  # a was replaced long ago
    ([0.5, 0.55], 0.1, "a", "b"),  # b is better by less than delta
    *(([0.5, 0.55, 0.9], 0.1, "c", "a"), ([0.5, 0.55, 0.9], 0.0, "c", "b")),
]


@pytest.mark.parametrize(("scores", "delta", "best", "worst"), SCORED)
def test_best_and_worst_are_as_in_the_paper(scores: list[float], delta: float, best: str, worst: str) -> None:
    """Equations 3 and 4 of arXiv 2504.01931 v2: of the new candidate and the incumbent before it."""
    candidates = [Candidate(name, key=name, verdict=Verdict(one)) for name, one in zip("abc", scores, strict=False)]
    assert form("best-worst", *candidates, delta=delta).text == f"Best: {best}\nWorst: {worst}"
    for name in ("scalar", "judge", "best-worst-judge", "best-worst-ever"):
        assert form(name, *candidates, delta=delta).best.action == best, name
    ever = form("best-worst-ever", *candidates, delta=delta).worst
    assert (ever and ever.action) == (None if best == "a" else "a")


SHOP = State("lamp | chair", {"page": {"selected": {}}})


def tried(action: str, seen: str = "", critique: str = "", score: float = 0.5, **given: Any) -> Candidate:
    """A candidate with its outcome; `failure` and `here`, and further fields of its info."""
    here, failure = given.pop("here", SHOP), given.pop("failure", "")
    before = (Turn(here.observation, action, here.info),)
    preview = State(seen or here.observation, given, history=before, key=seen, failure=failure)
    return Candidate(action, key=action, preview=preview, verdict=Verdict(score, critique))


def test_every_candidate_is_told_with_its_result_and_the_findings_and_nothing_twice() -> None:
    failing = tried("ls /x", "[exit code 2]", "It failed.", failure="exit status 2. no such file")
    listing = [tried(action, "a b", "Not asked for.", 0.75) for action in ("ls", "ls", "ls .")]
    feedback = form("findings", failing, *listing, Candidate(None, error="expected one line, got two"), here=SHOP)
    assert feedback.text.splitlines() == [
        *("Tried 1: ls /x", "Result: it failed: exit status 2. no such file", "Findings: It failed."),
        *("Tried 2: ls", "Result: a b", "Findings: Not asked for.", "Tried 3: the same as 2."),
        *("Tried 4: ls .", "Result: equal to that of 2.", "Findings: as of 2."),
        *("Tried 5, which is no action: expected one line, got two", "The verifier prefers 2 and 4."),
    ]
    assert [one.action for one in feedback.tried] == ["ls /x", "ls", "ls", "ls .", None]
    assert feedback.best.action == "ls"
    error = "no such column: age; near: pages"
    failed = form("findings", tried("submit[x]", critique=f"{error}.", failure=error))  # which only repeats the error
    assert failed.text.splitlines() == ["Tried 1: submit[x]", f"Result: it failed: {error}"]


PASSED = Candidate("passed", key="passed", verdict=Verdict(0.9, passed=True))
DOUBTED = Candidate("doubted", key="doubted", verdict=Verdict(0.4))


@pytest.mark.parametrize(
    ("tried", "is_told"),
    [
        *(((DOUBTED,), True), ((PASSED,), False), ((DOUBTED, PASSED), False)),
        ((replace(PASSED, verdict=Verdict(0.1, passed=True)), DOUBTED), True),
        *(((DOUBTED, BEST, replace(DOUBTED)), False), ((DOUBTED, replace(DOUBTED), BEST), True)),
    ],
)
def test_findings_end_with_a_pass_or_a_repeat(tried: tuple[Candidate, ...], is_told: bool) -> None:
    assert (form("findings", *tried) is not None) == is_told
    assert form("best-worst", *tried) is not None  # the papers' form keeps asking


def test_hints_tell_what_was_wrong_without_the_attempts() -> None:
    critiques = ("Two columns\ncome back.", "Two columns come back.")
    first, third = (tried(f"submit[SELECT {n}]", critique=critique) for n, critique in enumerate(critiques))
    second = tried("submit[SELECT 2]", failure="no such column: age")
    passing = Candidate("submit[SELECT 4]", key="4", verdict=Verdict(0.9, "Nothing odd.", passed=True))
    feedback = form("hints", first, second, third, passing, Candidate(None, error="expected a query, got\nnone"))
    told = ["Two columns come back.", "no such column: age", "expected a query, got none"]
    assert feedback.text.splitlines() == ["Mind:", *(f"- {one}" for one in told)]
    assert feedback.tried == ()  # so nothing shows their pictures either
    assert form("hints", replace(passing, preview=SHOP), tried("b", "seen b")) is None
    assert form("hints:3:2", tried("x", critique="c" * 99)).text == "Mind:\n- cccccccc..."


def test_facts_tell_what_attempts_led_to_and_neither_the_attempts_nor_a_judgement() -> None:
    feedback = form(
        "facts",
        tried("submit[SELECT 1]", "one row: 7", critique="Two columns come back."),
        tried("submit[SELECT 2]", failure="no such column: age"),
        tried("submit[SELECT 3]", "one row: 7"),
        Candidate("submit[SELECT 4]", key="4"),
    )
    head, *facts = feedback.text.splitlines()
    assert (head, facts[1]) == ("Earlier attempts led to:", "- no such column: age")
    assert [fact for fact in facts if "one row: 7" in fact] == [facts[0]]
    assert "after 4" in facts[2]
    assert not any(untold in feedback.text for untold in ("SELECT", "Two columns"))
    assert feedback.tried == ()


def test_equally_good_candidates_are_called_so_and_a_single_one_is_not_compared() -> None:
    one, other = tried("a", "seen a"), tried("b", "seen b")
    assert form("findings", one, other).text.endswith("The verifier finds 1 and 2 equally good.")
    assert "verifier" not in form("findings", one).text
    assert "Findings" not in form("results", tried("a", "seen a", "bad")).text


LAMP = State("Instruction: a lamp [SEP] Back [SEP] size [SEP] S", {"page": {"selected": {}}})
THIRTEEN = State("13\n[exit code 0]", {"facts": {"exit_code": 0}})


@pytest.mark.parametrize(
    ("words", "one", "told"),
    [
        (ShopRendering(), tried("click[f]", "Instruction: a lamp [SEP] Back [SEP] Oak", here=LAMP), "Oak"),
        (ShopRendering(), tried("click[s]", here=LAMP, page={"selected": {"size": "S"}}), "Selected: size = S"),
        (ShopRendering(), tried("click[s]", here=LAMP, page={"selected": {}}), "nothing that can be seen changed"),
        (ShellRendering(), tried("echo 13", here=THIRTEEN, facts={"exit_code": 0}), "13\n[exit code 0]"),  # again
    ],
)
def test_a_result_is_told_by_what_is_new_in_the_environments_words(words: Any, one: Candidate, told: str) -> None:
    """What a page, a picture and an output are in words: the environments' own tests."""
    assert f"Result: {told}" in form("results:300:20", one, words=words).text


def test_a_page_is_not_cut_inside_a_tag() -> None:
    html = "<html><body>" + "<p class='wide'>some text</p>" * 100
    for n_tokens in range(3, 60):
        assert re.search(r"<[^>]*$", truncated(html, n_tokens).removesuffix("...")) is None
    assert truncated("1 < 2 and so on", 2) == "1 < 2 an..."


@pytest.mark.parametrize("name", [name for name in FORMS if name not in ("none", "hints", "facts")])
def test_a_form_s_name_may_say_how_much_is_shown(name: str) -> None:
    long, other = (Candidate(one * 10_000, key=one, verdict=Verdict(one == "x")) for one in "xy")
    shown, n = form(f"{name}:20", long, other).text, 20 * CHARS_PER_TOKEN
    assert ("x" * n + "...") in shown
    assert not any(letter * (n + 1) in shown for letter in "xy")


def test_a_form_s_name_may_say_how_much_of_the_critique_is_shown() -> None:
    for name in ("judge:300:7", "best-worst-judge:300:7"):
        feedback = form(name)
        assert feedback.critique == "Look left. " * 100, "as data it is whole"
        assert f"Review: {('Look left. ' * 100)[: 7 * CHARS_PER_TOKEN].rstrip()}..." in feedback.text


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *(("none:3", "none,"), ("best-worst:0", "best-worst:<shown_tokens>,"), ("scalar:-1", "scalar:<shown_tokens>")),
        ("best-worst:300:100", "best-worst:<shown_tokens>,"),
        *((f"judge:{lengths}", "judge:<shown_tokens>:<critique_tokens>") for lengths in ("many", "1:2:3")),
        ("findings:1:2:3:4", "findings:<shown_tokens>:<result_tokens>:<critique_tokens>"),
    ],
)
def test_a_length_that_makes_no_sense_shows_the_form_s_name(name: str, form: str) -> None:
    with pytest.raises(ValueError, match=f"expected the feedback form {form}"):
        load_feedback(name)


def test_feedback_on_different_candidates_is_told_apart_where_its_text_is_the_same() -> None:
    prints = {fingerprint(Feedback("Best: xxx...", best=Candidate(None, key=key))) for key in ("xxxa", "xxxb")}
    assert len(prints | {fingerprint(None)}) == 3
    assert fingerprint(None) == ""


def test_roles_without_a_model_answer_from_verdicts_and_templates() -> None:
    answer = TemplateRoles().answer
    path = State("end", {}, history=(Turn("a", "go"), Turn("b", "stop")))
    assert answer("ranker", HERE, [WORST, BEST]) == "1"
    assert answer("judge", HERE, [BEST]) == "the best: 0.875. well done"
    assert answer("critic", HERE, BEST) == "well done"
    assert answer("critic", HERE, Candidate("x"))
    assert "Cause: well done" in answer("evaluator", HERE, [BEST])
    assert all("go -> stop" in one for one in (answer("summariser", HERE, [path]), answer("reflector", HERE, path)))
    assert "as it is" in answer("paraphraser", HERE, "as it is") != "as it is"
    assert {answer(role, HERE, [BEST]) != "" for role in ROLES} == {True}


def test_feedback_is_data_of_which_the_words_are_made() -> None:
    failed = tried("b", "seen b", "It failed.", 0.25, failure="no such button")
    feedback = form("findings", tried("a", "seen a", "Fine."), failed, tried("c", "seen c", "Fine.", 0.75))
    told = [("a", "Fine.", ""), ("b", "It failed.", "no such button"), ("c", "Fine.", "")]
    assert [(one.candidate.action, one.findings, one.failure) for one in feedback.attempts] == told
    assert feedback.attempts[1].outcome is failed.preview
    assert (feedback.preferred, feedback.best.action, feedback.worst.action) == ((3,), "c", "b")
    assert (feedback.instruction, feedback.shown.result) == (DIFFER, 150)
    assert [one.shown_as for one in form("best-worst").attempts] == ["best", "worst"]
    (last,) = about_last(BEST, Said("error", "it broke"), Said("output", "")).attempts
    assert last.said == (Said("error", "it broke"),)
