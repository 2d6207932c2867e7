"""The step-level and whole-episode methods on canned answers: what each commits, asks and shows, also when cut."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from iad_policy import Ask, Candidate, Commit, Propose, Simulate, State, Verdict, Verify
from iad_policy.prompts.feedback import feedback_text
from iad_policy.prompts.rendering import Rendering
from iad_policy.run.config import RunConfig
from iad_policy.strategies import STRATEGIES, declaration_of, find_strategy, load_strategy, per_step, require_verifier
from iad_policy.types import Move
from tests.contract.canned import HERE, canned, cut, drive, seen_by


def text_of(request: Propose) -> str | None:
    """The words of a proposal's feedback."""
    return request.feedback and feedback_text(request.feedback, Rendering())


def judged(score: Callable[[str], float], **given: Any) -> Any:
    """Answers a request for verdicts by the action."""
    return lambda request: [replace(one, verdict=Verdict(score(one.action)), **given) for one in request.candidates]


def committed(name: str, answers: Mapping[type, Any], *, n_commits: int = 1, **options: Any) -> list[Any]:
    return drive(load_strategy(name, **{"n": 3, **options})(HERE), answers, n_commits=n_commits)


@pytest.mark.parametrize(
    ("name", "proposed", "action"),
    [
        ("weighted-bon", "a ccc bb bb", "bb"),  # 2 + 2 is more than 3
        ("weighted-bon", "ccc bb a d", "ccc"), ("weighted-bon", "bb aa c -", "bb"), ("weighted-bon", "- - - -", ""),
        ("self-refine", "aaaa bb c d", "d"), ("self-refine", "aaaa bb c -", "c"), ("self-refine", "- - a -", "a"),
        ("sk2code-feedback", "aaaa bb c d", "d"), ("sk2code-feedback", "aaaa - c -", "c"),
        ("self-debug", "a", "a"), ("self-debug", "- - c", "c"), ("try-again", "- a", "a"),
        ("sequential-revision", "a ccc bb bb", "bb"), ("sequential-revision", "- a b -", "a"),
        ("iad-fb", "a bb c d", "bb"), ("q-guided", "a bb ccc d", "ccc"), ("bon-episode", "a bb ccc d", "ccc"),
        ("reflexion", "aaaa bb ccc d", "d"),
    ],
)  # fmt: skip
def test_what_is_committed(name: str, proposed: str, action: str) -> None:
    assert committed(name, canned(*(one.strip("-") for one in proposed.split())), n=4) == [action]


@pytest.mark.parametrize(
    ("name", "kind", "n", "action"),
    [
        ("weighted-bon", Verify, 0, "a"), ("self-refine", Ask, 0, "a"), ("self-refine", Propose, 2, "bbb"),
        ("sk2code-feedback", Verify, 0, "a"), ("sk2code-feedback", Propose, 2, "bbb"), ("self-debug", Simulate, 0, "a"),
        ("sk2code-feedback", Ask, 1, "bbb"), ("self-debug", Simulate, 1, "bbb"), ("self-debug", Propose, 1, "a"),
        ("try-again", Verify, 0, "a"), ("try-again", Verify, 1, "a"), ("try-again", Propose, 2, "bbb"),
        ("sequential-revision", Verify, 0, "a"), ("sequential-revision", Verify, 2, "bbb"),
        ("sequential-revision", Ask, 0, "a"), ("iad-fb", Verify, 0, "a"), ("iad-fb", Ask, 1, "bbb"),
        ("q-guided", Verify, 0, "a"), ("q-guided", Propose, 2, "bbb"), ("q-guided", Ask, 0, "bbb"),
        ("bon-episode", Verify, 0, "a"), ("bon-episode", Verify, 1, "a"), ("bon-episode", Simulate, 0, "a"),
        ("bon-episode", Simulate, 2, "bbb"), ("bon-episode", Propose, 1, "a"), ("reflexion", Verify, 0, "a"),
        ("reflexion", Simulate, 0, "a"), ("reflexion", Simulate, 1, "a"), ("reflexion", Propose, 2, "bbb"),
        ("reflexion", Ask, 0, "a"),
    ],
)  # fmt: skip
def test_what_is_committed_when_the_budget_ends(name: str, kind: type, n: int, action: str) -> None:
    """Each docstring says it. Nothing that is executed fails, but what self-debug tries."""
    answers = canned("a", "bbb", "cc", "d", "e", "f")
    if name == "self-debug":
        answers[Simulate] = lambda request: State("it failed", {}, failure="it failed")
    if name == "try-again":
        answers[Verify] = judged(lambda action: len(action) / 9)
    assert committed(name, cut(answers, kind, n)) == [action]


def test_weights_are_added_up_by_key_and_not_by_text_and_a_failed_verification_takes_none_away() -> None:
    answers = canned("SELECT 1", "Select  1", "SELECT 22")
    texts = {"SELECT 22": "22", "SELECT 1": "1", "select 1": "1"}
    answers[Propose] = lambda request: [Candidate(text, key=key) for text, key in texts.items()]
    assert committed("weighted-bon", answers) == ["SELECT 1"]
    scores = iter([float("-inf"), 2.0, 1.5])
    answers[Propose] = lambda request: [Candidate(action, key=action) for action in ("a", "a", "b")]
    assert committed("weighted-bon", {**answers, Verify: judged(lambda action: next(scores))}) == ["a"]


def test_the_critic_is_shown_the_verdict_and_the_agent_words_alone() -> None:
    told = [f"Last: {action}\nReview: the critic said" for action in ("aaaaaaa", "b")]
    for name, n_verified in (("sk2code-feedback", [1, 1]), ("sequential-revision", [1, 2, 3])):
        answers, proposals = seen_by(canned("aaaaaaa", "b", "c"), Propose)
        answers, asked = seen_by(answers, Ask)
        answers, verified = seen_by(answers, Verify)
        committed(name, answers)
        assert [(one.role, one.subject.score) for one in asked] == [("critic", 7.0), ("critic", 1.0)]
        assert all("7" not in str(text_of(one)) and one.feedback.best.verdict is None for one in proposals[1:])
        assert [len(one.candidates) for one in verified] == n_verified
        assert name != "sk2code-feedback" or [text_of(one) for one in proposals] == [None, *told]


def test_a_revision_is_given_all_answers_before_it_and_the_text_about_the_last() -> None:
    said = {"all": "Tried 1: a\nTried 2: b\nFindings: the critic said", "last": "Last: b\nReview: the critic said"}
    for shown, text in said.items():
        answers, proposals = seen_by(canned("a", "b", "c"), Propose)
        committed("sequential-revision", answers, shown=shown)
        assert (text_of(proposals[-1]), proposals[-1].feedback.best.action) == (text, "b")
    with pytest.raises(ValueError, match="'all' or 'last', got 'none'"):
        committed("sequential-revision", canned("a"), shown="none")


def test_iad_fb_asks_for_k_judge_texts_at_most() -> None:
    for k, n_texts in ((None, 3), (0, 0), (1, 1), (2, 2), (9, 3)):
        answers, proposals = seen_by(canned("a", "bb", "c", "d"), Propose)
        answers, asked = seen_by(answers, Ask)
        assert (committed("iad-fb", answers, n=4, k=k), len(asked)) == (["bb"], n_texts)
        told = ["Review: the critic said" in str(text_of(one)) for one in proposals[1:]]
        assert told == [place < n_texts for place in range(3)]
    with pytest.raises(ValueError, match="0 or more, got -1"):
        committed("iad-fb", canned("a"), k=-1)


def test_self_debug_feeds_back_the_error_in_the_environments_words() -> None:
    answers, proposals = seen_by(canned("broken", "fixed", "unused"), Propose)
    failures = {"broken": "no such column"}
    answers[Simulate] = lambda request: State("seen", {}, failure=failures.get(request.candidate.action, ""), done=True)
    assert committed("self-debug", answers) == ["fixed"]
    _, second = proposals
    assert text_of(second) == "Last: broken\nError: no such column"
    assert second.feedback.critique == "no such column"


def test_try_again_shows_the_reward_and_ends_at_1() -> None:
    rewards = {"a": 0.25, "b": 0.125, "c": 1.0, "d": 0.5}
    answers, proposals = seen_by(canned(*rewards), Propose)
    answers[Verify] = judged(rewards.__getitem__, preview=State("saw it", {}))
    assert committed("try-again", answers, n=9) == ["c"]
    told = [f"Last: {action}\nOutput: saw it\nReward: {rewards[action]}" for action in "ab"]
    assert [text_of(one) for one in proposals] == [None, *told]


@pytest.mark.parametrize("name", STRATEGIES)
def test_only_a_method_that_always_asks_a_verifier_is_refused_without_one(name: str) -> None:
    needs = declaration_of(name).needs
    assert needs is not None
    with pytest.raises(ValueError, match="expected a verifier") if needs in ("verifier", "oracle") else nullcontext():
        require_verifier(name, None)


@pytest.mark.parametrize("option", ["verify", "evaluate"])
def test_artis_without_verdicts_needs_no_verifier(option: str) -> None:
    require_verifier("artis", None, {option: False})
    config = RunConfig("IAD/WebShop-v0", "shopper", strategies=("artis",), verifier=("proxy", "oracle"))
    assert config.verifiers_of("artis") == ("proxy", "oracle")
    assert replace(config, strategy_args={option: False}).verifiers_of("artis") == ("proxy",)
    with pytest.raises(ValueError, match="expected a verifier for artis"):
        require_verifier("artis", None, {option: True})


def test_q_guided_proposes_the_first_for_the_tasks_own_words_and_the_others_for_a_paraphrase_each() -> None:
    said = iter(["Tell what is asked.", "Say what is asked.", "Speak."])
    answers, proposals = seen_by(canned("a", "bb", "c", "d", *"efgh"), Propose)
    answers[Ask] = lambda request: next(said)
    assert committed("q-guided", answers, n=4, n_commits=2) == ["bb", "e"]
    # The second answer is the task as it was: asked for as such. The paraphrases serve the whole episode.
    assert [one.at.wording for one in proposals] == ["", "Tell what is asked.", "", "Speak."] * 2
    assert all(one.at.observation == HERE.observation for one in proposals)


def test_q_guided_episodes_are_guided_at_each_step_and_the_best_one_is_committed_whole() -> None:
    # Episode one takes aa, then a; episode two takes b, then bbb: the verifier prefers the end of the second.
    answers, verified = seen_by(two_steps(canned("a", "aa", "a", "", "b", "", "bbb", "b")), Verify)
    assert committed("q-guided", answers, n=2, episodes=2, perturb=False, n_commits=2) == ["b", "bbb"]
    assert len(verified) == 4


def two_steps(answers: dict[type, Any]) -> dict[type, Any]:
    """Answers of a world whose episodes are two actions long, for real and simulated."""

    def simulate(request: Simulate) -> State:
        path = (*request.at.path, Move(request.candidate.action, request.draw))
        there = f"after {'/'.join(move.action for move in path)}"
        return State(there, {}, path=path, wording=request.at.wording, done=len(path) == 2)

    def commit(request: Commit) -> State:
        acted.append(request.candidate.action)
        return State(f"after {'/'.join(acted)}", {}, done=len(acted) == 2)

    acted: list[str] = []
    return {**answers, Simulate: simulate, Commit: commit}


def test_the_episode_whose_end_scores_best_is_committed_step_by_step_also_of_paraphrases() -> None:
    answers, verified = seen_by(two_steps(canned("aaaa", "a", "b", "bbb", "cc", "cc")), Verify)
    assert committed("bon-episode", answers, n_commits=2) == ["b", "bbb"]
    assert [request.candidates[0].action for request in verified] == ["a", "bbb", "cc"]
    answers, proposals = seen_by(two_steps(canned("a", "a", "b", "b", "c", "c")), Propose)
    committed("bon-episode", answers, perturb=True, n_commits=2)
    assert [one.at.wording for one in proposals] == ["", "", *["the paraphraser said"] * 4]


def test_the_best_episode_is_one_that_came_to_its_end_and_it_goes_on_with_first_answers_in_another_world() -> None:
    answers = two_steps(canned("a", "a", "bb", "bb", "now", "then"))
    answers[Commit] = lambda request: State("elsewhere", {})
    assert committed("bon-episode", answers, n=2, n_commits=3) == ["bb", "now", "then"]
    answers = cut(two_steps(canned("a", "a", "bbbbb", "bbbbb")), Simulate, 3)
    assert committed("bon-episode", answers, n=2, n_commits=2) == ["a", "a"]
    answers = canned(*"abcdef")  # in an environment without an end
    answers[Simulate] = lambda request: State("going on", {})
    assert committed("bon-episode", answers, n=2, depth=3) == ["a"]


def test_reflexion_retries_with_reflections_until_one_passes_and_commits_the_last_attempt() -> None:
    answers, proposals = seen_by(two_steps(canned(*"aabbcc")), Propose)
    answers, asked = seen_by(answers, Ask)
    assert committed("reflexion", answers, n_commits=2) == ["c", "c"]
    assert [len(one.at.notes) for one in proposals] == [0, 0, 1, 1, 2, 2]
    told = [(one.role, one.subject[0].observation) for one in asked]
    assert told == [("reflector", "after a/a"), ("reflector", "after b/b")]
    answers, proposals = seen_by(two_steps(canned("a", "a", "b", "b", "c", "c")), Propose)
    passing = {"a": Verdict(0.5, passed=False), "b": Verdict(0.5, passed=True)}
    answers[Verify] = lambda request: [replace(one, verdict=passing[one.action]) for one in request.candidates]
    assert committed("reflexion", answers, n_commits=2) == ["b", "b"]
    assert len(proposals) == 4
    # It shows the last three reflections.
    count = iter(range(9))
    answers, proposals = seen_by(canned(*"abcdef"), Propose)
    answers[Ask] = lambda request: f"reflection {next(count)}"
    committed("reflexion", answers, n=6)
    assert [one.at.notes for one in proposals][-1] == ("reflection 2", "reflection 3", "reflection 4")


def test_a_strategy_says_what_n_counts_and_one_that_has_no_name_and_declares_nothing_is_accepted() -> None:
    for name, options, means in (
        *((name, {}, "proposals per decision") for name in ("bon", "self-refine", "q-guided")),
        *((name, {}, "simulated episodes") for name in ("bon-episode", "reflexion")),
        ("q-guided", {"episodes": 2}, "proposals per step of each simulated episode"),
    ):
        assert declaration_of(name).n_means(options) == means
        with pytest.raises(ValueError, match=f"expected n, the {means}, to be"):
            load_strategy(name, **options, n=0)
    require_verifier(partial(find_strategy("bon"), n=2), None)
    require_verifier(per_step(lambda here: iter(())), None)
