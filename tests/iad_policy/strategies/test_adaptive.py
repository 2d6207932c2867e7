"""`adaptive`, `mixed` and `ab-mcts`: what they ask for next; stop rules: when each says stop, and what it saves."""

from collections import Counter
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from iad_policy.errors import UnknownName
from iad_policy.requests import Propose, Simulate, Verify
from iad_policy.strategies import load_strategy
from iad_policy.strategies.ab_mcts import AnswerNode, Posterior, add, selected, uniforms
from iad_policy.strategies.building_blocks.incumbent import incumbent
from iad_policy.strategies.building_blocks.stop import chance_ahead, load_stop
from iad_policy.types import Candidate, State, Usage, Verdict
from iad_policy.types.hashing import digest
from iad_policy.types.plan import REFINE, SAMPLE, STOP, load_plan
from tests.contract.canned import canned, drive, seen_by
from tests.contract.components import A_PLAN

HERE = State("start", {"instruction": "Say what is asked."}, id="here", steps_left=1)


def asked(strategy: str, scores: list[float], *, keys: str = "abcdefgh", passed: Any = None, **how: Any) -> Any:
    """What a decision asks for, a letter each (s: a sample, r: a refinement), and what it commits."""
    letters, made = [], [Candidate(key, key=key) for key in keys]
    worth = dict(zip(keys, scores, strict=False))

    def propose(request: Propose) -> list[Candidate]:
        letters.extend(request.n * (SAMPLE if request.feedback is None else REFINE))
        return [made.pop(0) for _ in range(request.n)]

    def verify(request: Verify) -> list[Candidate]:
        return [replace(one, verdict=Verdict(worth[one.key], passed=passed)) for one in request.candidates]

    here = how.pop("here", HERE)
    (action,) = drive(load_strategy(strategy, **how)(here), {Propose: propose, Verify: verify})
    return "".join(letters), action


PLAN = replace(A_PLAN, share=1.0)


def test_it_does_what_the_plan_says_after_each_verdict() -> None:
    plan = replace(PLAN, rows={**PLAN.rows, "1,1": "rrx"})
    for scores, letters, committed in (
        *(([0.9], "s", "a"), ([0.1, 0.9], "ss", "b"), ([0.5, 0.6, 0.8], "srr", "c")),
        *(([0.1, 0.2, 0.3, 0.4], "ssrs", "d"), ([0.1, 0.5, 0.5, 0.4], "ssr", "b")),
    ):
        assert asked("adaptive", scores, plan=plan) == (letters, committed)


REFINING = {"1,0": "rrr", "1,1": "rrr", "1,2": "xxx", "2,0": "xxx", "2,1": "xxx"}
EARLY = replace(HERE, steps_left=2)
"""Other decisions follow this one."""


def test_what_passed_or_was_repeated_is_not_refined_and_ends_an_early_decision() -> None:
    plan = replace(PLAN, rows=REFINING)
    for given, letters, early in (({}, "srr", "srr"), ({"passed": True}, "ss", "s"), ({"keys": "aab"}, "srs", "sr")):
        assert asked("adaptive", [0.5] * 3, plan=plan, **given)[0] == letters
        assert asked("adaptive", [0.5] * 3, plan=plan, here=EARLY, **given)[0] == early


def test_without_a_plan_it_samples_until_a_candidate_passes_or_the_votes_are_settled() -> None:
    assert asked("adaptive", [0.1, 0.2, 0.3, 0.4, 0.5], n=5)[0] == "sssss"
    assert asked("adaptive", [0.1], n=5, passed=True)[0] == "s"
    assert asked("adaptive", [0.1] * 4, n=8, keys="aaaaaaaa")[0] == "ssss"


def test_the_share_of_a_plan_says_how_many_decisions_follow_which_table() -> None:
    plan = replace(PLAN, share=0.25)
    tables = Counter(plan.table_for(str(place)) is plan.rows for place in range(2000))
    assert 0.2 < tables[True] / 2000 < 0.3
    assert plan.table_for("7") == plan.table_for("7")


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(A_PLAN.as_toml(), encoding="utf-8")
    assert load_plan(path) == load_plan(A_PLAN.as_dict()) == A_PLAN
    assert digest(load_plan(path)) == digest(A_PLAN) != digest(replace(A_PLAN, share=0.5))
    assert [A_PLAN.move(A_PLAN.rows, score, 1, 0) for score in (float("nan"), 0.4, 0.7)] == [SAMPLE, REFINE, STOP]
    assert A_PLAN.move(A_PLAN.rows, 0.0, 9, 9) == STOP
    assert replace(A_PLAN, pilot={"tasks": 60, "proposals": 480, "usd": 0.5}).pilot_usage() == Usage(480, usd=0.5)
    with pytest.raises(ValueError, match="pilot's proposals"):
        A_PLAN.pilot_usage()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("version = 2", "version = 7"), "of version 7"),
        (lambda text: text.replace('"srx"', '"sr"'), "3 letters of s, r and x in each row of .*1,0 = 'sr'"),
        (lambda text: text.replace("worth = 10.0\n", ""), "differ: worth"),
        (lambda text: text + "{", "in TOML, got .*iad advise RUN --policy FILE"),
        (lambda text: None, "No such file or directory; make one"),
    ],
)
def test_what_is_no_plan_is_refused(tmp_path: Path, change: Any, said: str) -> None:
    path = tmp_path / "plan.toml"
    if (text := change(A_PLAN.as_toml())) is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        load_strategy("adaptive", plan=str(path))
    with pytest.raises(ValueError, match="the agent wanderer, which the plan was made with, got shopper"):
        A_PLAN.refuse_other(env="Digger", agent="shopper")
    A_PLAN.refuse_other(env="Digger", agent="wanderer")


def test_mixed_refines_after_its_share_of_samples() -> None:
    assert asked("mixed", [0.1] * 5, n=5) == ("sssrr", "a")
    assert asked("mixed", [0.1, 0.2, 0.3, 0.4], n=4) == ("ssrr", "d")
    assert [asked("mixed", [0.1] * 4, n=4, fresh=fresh)[0] for fresh in (1.0, 0.0)] == ["ssss", "srrr"]
    with pytest.raises(ValueError, match="from 0 to 1, got 2"):
        asked("mixed", [0.1], fresh=2)


def test_ab_mcts_draws_are_those_of_its_posterior_and_it_commits_the_best_and_is_the_same_again() -> None:
    """The mean of a normal-inverse-gamma posterior is Student-t distributed around its mean."""
    posterior, uniform = Posterior([0.2, 0.9, 0.4, 0.5]), uniforms("")
    mean, kappa, nu, tau2 = posterior.parameters()
    draws = np.array([posterior.draw(uniform) for _ in range(20_000)])
    assert draws.mean() == pytest.approx(mean, abs=0.01)
    assert draws.std() == pytest.approx((tau2 / kappa * nu / (nu - 2)) ** 0.5, rel=0.1)
    scores = [0.1, 0.7, 0.3, 0.2, 0.6, 0.5]
    letters, action = asked("ab-mcts", scores, n=6)
    assert (len(letters), letters[0], action) == (6, "s", "b")
    assert asked("ab-mcts", scores, n=6) == (letters, action)


def test_ab_mcts_decides_as_the_published_package() -> None:
    """The same posteriors after the same tree, and the same choices as often: treequest of the paper's authors."""
    theirs = pytest.importorskip("treequest.algos.ab_mcts_a.algo", reason="treequest is not installed: the extra dev")
    scores = [0.3, 0.8, 0.1, 0.6, 0.9, 0.2, 0.7, 0.4]
    uniform = uniforms("tree")
    root, algorithm = AnswerNode(), theirs.ABMCTSA()
    state = algorithm.init_tree()
    nodes = {(): state.tree.root}
    for place, score in enumerate(scores):
        above = selected(root, uniform)
        add(above, place, score)
        parent = nodes[above[-1].path]
        state, _ = algorithm.ask_batch(state, 1, ["answer"])  # makes their posteriors of the path
        state.thompson_states.get_or_create(parent, ["answer"])
        trial = state.trial_store.create_trial(parent, "answer")
        state = algorithm.tell(state, trial.trial_id, (place, score))
        nodes[above[-1].children[-1].path] = parent.children[-1]
    for path, node in nodes.items():
        own = root
        for place in path:
            own = next(child for child in own.children if child.path[-1] == place)
        known = state.thompson_states.get(node)
        if known is None:
            assert not own.children
            continue
        shared = known.gen_vs_cont_probas["shared"]
        for posterior, dist in (
            (own.generating, shared["GEN"]),
            (own.going_on, shared["CONT"]),
            *((child.reached, known.node_probas["shared"][place]) for place, child in enumerate(own.children)),
        ):
            names = ("m", "kappa", "nu", "tau_square")
            assert posterior.parameters() == pytest.approx([dist.params[name] for name in names])
    np.random.seed(0)  # theirs draws from the global generator
    n = 600
    found = Counter(selected(root, uniforms(str(seed)))[-1].path for seed in range(n))
    again = Counter(algorithm._get_expand_node_and_action(state, ["answer"])[0].expand_idx for _ in range(n))
    for path, node in nodes.items():
        assert found[path] / n == pytest.approx(again[node.expand_idx] / n, abs=0.08), path


BAD = Candidate(None, error="unreadable")


def tried(text: str) -> list[Candidate]:
    """Candidates by their letters: with a score, and marked where they passed (+), failed (!), or are no action (?)."""
    found = []
    for one in text.split():
        key, _, score = one.strip("+!").partition("=")
        verdict = Verdict(float(score), passed=one.endswith("+") or None) if score else None
        preview = State("saw", {}, key=f"result of {key}", failure="no such table") if one.endswith("!") else None
        found.append(BAD if key == "?" else Candidate(key, key=key, verdict=verdict, preview=preview))
    return found


@pytest.mark.parametrize(
    ("rule", "text", "stops"),
    [
        ("never", "a=1.0+", False), ("passed", "a=0.2+", True), ("passed", "a=0.2+ b=0.7", False),
        ("passed", "?", False), ("vote:0.5", "?", False), ("gain:20", "?", False),
        ("score:0.7", "a=0.7", True), ("score:0.7", "a=0.69", False),
        ("repeat", "a b a", True), ("repeat", "a a b", False), ("repeat", "? ?", False),
        ("vote:0.95", "a a a", False), ("vote:0.95", "a a a a", True), ("vote:0.95", "a a a a b ?", False),
        ("vote:0.95", "a a a a a a b ?", True), ("vote:0.9", "a! a! a! a! b", False),
        ("gain:20", "a=0.5", False), ("gain:20", "a=0.7", True), ("gain:20", "a=0.5 b=0.4", True),
    ],
)  # fmt: skip
def test_a_rule_says_when_to_stop(rule: str, text: str, stops: bool) -> None:
    assert load_stop(rule)(incumbent(tried(text)), tried(text)) is stops


def test_a_votes_confidence_is_the_share_of_a_beta_distribution_above_a_half() -> None:
    for n_first, n_second in combinations_with_replacement(range(8, -1, -1), 2):
        expected = beta.sf(0.5, n_first + 1, n_second + 1)
        assert chance_ahead(n_first, n_second) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("strategy", "stop", "n_asked"),
    [
        *(("bon", "never", 5), ("bon", "score:3", 3), ("bon", "score:9", 5), ("weighted-bon", "score:3", 3)),
        *(("bon-sc", "repeat", 4), ("chains", "score:1", 1), ("mixed", "never", 5)),
    ],
)
def test_proposals_that_a_rule_saves_are_not_asked_for(strategy: str, stop: str, n_asked: int) -> None:
    """Scores are the lengths of the actions, and the fourth action is the first again."""
    answers, asked = seen_by(canned("a", "bb", "ccc", "a", "e"), Propose)
    options: Any = {"chains": {"k": 1, "stop": stop}, "mixed": {}}.get(strategy, {"stop": stop})
    drive(load_strategy(strategy, n=5, **options)(HERE), answers)
    assert sum(request.n for request in asked) == n_asked
    assert (len(asked) == 1) is ((strategy == "bon" and stop == "never") or n_asked == 1)


def test_a_vote_is_of_results_where_a_strategy_looks_at_them() -> None:
    answers, asked = seen_by(canned(*"abcdefgh"), Propose)
    answers[Simulate] = lambda request: State("the same", {}, id=request.candidate.key, done=True)
    drive(load_strategy("bon-sc", n=8, by="result", stop="vote:0.95")(HERE), answers)
    assert len(asked) == 4


def test_a_rule_that_is_none_is_refused_and_one_of_verdicts_where_none_are_asked_for() -> None:
    for given, error, said in (
        *(("finalise", UnknownName, "use passed"), ("never:1", UnknownName, "never:1")),
        ("later", UnknownName, "gain:W, never, passed, repeat, score:X, vote:P"),
        *(("score", ValueError, "such as score:0.9"), ("vote:1.2", ValueError, "from 0.5 to 1, got 'vote:1.2'")),
        ("gain:-1", ValueError, "0 or more, got 'gain:-1'"),
    ):
        with pytest.raises(error, match=said):
            load_stop(given)
    for stop in ("score:0.9", "passed", "gain:5"):
        with pytest.raises(ValueError, match="for bon_sc, which asks no verifier"):
            load_strategy("bon-sc", stop=stop)
        assert load_strategy("bon", stop=stop)
