"""Learning from conversations with function calls, and whoever reads what was predicted."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iad_envs.toolcalls.policy.features import FEATURES, CallFeatures
from iad_envs.toolcalls.policy.language_agent import CHATS
from iad_policy import evaluate
from iad_policy.learn.explore import explore
from iad_policy.learn.simulators import record_outcomes, train_simulator
from iad_policy.learn.train import train
from iad_policy.simulators import load_simulator
from iad_policy.simulators.llm import Unpredicted
from iad_policy.simulators.recorded import PROVOKED, read
from iad_policy.trained.backends.numeric import numeric
from iad_policy.trained.features import load_features
from iad_policy.types import AWAITING, Candidate, State, Turn
from iad_policy.types.outcome_types import type_of
from iad_policy.world import adapt
from tests.iad_envs.toolcalls.policy.talks import WORDS, Talk, chat, read_by_all

NUMBERS = CallFeatures()
FAILS = "[move_note(title='choir', folder='no such folder')]"
MOVE = "[move_note(title='choir', folder='garden')]"


def named(state: State, action: str) -> dict[str, float]:
    """The features of a response that are not 0."""
    (row,) = NUMBERS.rows(state, [action])
    return {name: value for name, value in zip(FEATURES, row, strict=True) if value}


def test_values_are_bounded_and_every_feature_tells_something_somewhere() -> None:
    assert load_features("IAD/BFCL-v0").names == FEATURES
    more = (
        *(MOVE, "[nothing_such(a=1)]", "[move_note(title='choir', now=1)]", "[f(", "[]", "reply[I've moved it.]"),
        *("reply[Which one?]", "[move_note(title='choir', folder=[])]", "[tailor.repair_price(speed='at once')]"),
        "[find_books(words='moon'), move_note(title='choir', folder='garden')]",
    )
    rows = []
    notes = [Talk("multi_turn_base_1").did(*before) for before in ((), (MOVE,), (FAILS,))]
    for state in (*(talk.state for talk in notes), Talk("multiple_2").state):
        found = NUMBERS.rows(state, [*NUMBERS.actions(state), *more])
        assert found.shape == (1 + len(more), len(FEATURES))
        rows.append(found)
    whole = np.concatenate(rows)
    assert np.isfinite(whole).all()
    assert 0.0 <= whole.min() <= whole.max() <= 1.0
    assert [name for name, is_set in zip(FEATURES, whole.any(axis=0), strict=True) if not is_set] == []


def test_a_response_is_told_by_what_it_uses_and_what_was_done() -> None:
    talk = Talk("multi_turn_base_1")
    assert named(talk.state, MOVE) == {"calls": 0.25, "used": 1.0, "unused": 1.0}
    wrong = named(talk.state, "[count_seeds(species='accordion')]")
    assert {"calls", "ungrounded_argument", "unused"} == set(wrong)
    talk.did(MOVE)
    assert named(talk.state, "reply[Done.]") == {"reply": 1.0, "made": 0.25, "worked": 0.25}
    assert "repeated_call" in named(talk.state, MOVE)
    with pytest.raises(ValueError, match=r"features offer actions to choose from, got IAD/BFCL-v0.*--backend hf"):
        numeric("linear", "IAD/BFCL-v0", "policy")


BFCL = "IAD/BFCL-v0"


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("outcomes") / "outcomes.jsonl"
    record_outcomes(BFCL, path, agents=("solution:0.3",), tasks=4)
    return path


def test_values_and_evaluators_learn(tmp_path: Path) -> None:
    """From episodes and from trees."""
    grown = explore(BFCL, "solution:0.5", how="tree", out=tmp_path / "tree", tasks=2)
    value = train("qnet", grown, out=tmp_path / "qnet", epochs=10)
    judge = train("evaluator", explore(BFCL, out=tmp_path / "mixed", tasks=4), out=tmp_path / "evaluator", epochs=10)
    how = {"verifier": f"qnet:{value.folder}", "roles": {"evaluator": f"learned:{judge.folder}"}, "n": 2}
    shown = evaluate(BFCL, ["single", "bon", "artis"], 2, **how)
    assert not any(one.error_kind for records in shown.records.values() for one in records)


def test_outcomes_are_of_the_types_of_their_findings_and_read_by_everybody(outcomes: Path) -> None:
    found = list(read(outcomes))
    kinds = {(type_of(one.info, one.done), one.source) for one in found}
    wanted = {("success", "agent"), ("tool_error", "agent"), ("invalid", PROVOKED), ("unknown_function", PROVOKED)}
    assert wanted <= kinds
    assert any(one.info["stop_reason"] == AWAITING for one in found)
    talk = Talk("multi_turn_base_13")
    world, here = adapt(talk.env), replace(talk.state, id="here")
    world.begin(here.observation)
    simulator = load_simulator(f"retrieval:{outcomes}", talk.env)
    for action in ("[nothing_such(a=1)]", "[find_books(words='x')]", "no action", "[]", "reply[Done.]"):
        for draw in range(3):
            outcome = simulator.simulate(world, simulator.begin(world, here), action, draw)
            further = simulator.simulate(world, outcome.token, "[read_note(title='x')]", draw)
            for one in (outcome, further):
                read_by_all(one.token, here, action)


def test_attempts_are_made_with_a_trained_simulator(outcomes: Path, tmp_path: Path) -> None:
    trained = train_simulator(outcomes, BFCL, out=tmp_path, failures=1.0, epochs=10)
    how = {"env_args": {"max_steps": 6}, "baseline": "artis", "simulator": f"learned:{trained.folder}"}
    shown = evaluate(BFCL, ["artis"], 2, n=2, agent="plan-following:random", **how)
    (records,) = shown.records.values()
    assert not any(one.error_kind for one in records)
    assert all(one.usage["simulator"]["simulations"] > 0 for one in records)


BASE = "multi_turn_base_13"


def moments() -> Iterator[State]:
    """States of every kind: as a turn begins, with results, after an error and after an unreadable action, drafted."""
    talk = Talk(BASE)
    yield talk.state
    yield talk.tried("reply[Done.]").preview  # type: ignore[misc]
    for action in (talk.reference[0], "[nothing_such(a=1)]", "no action", "reply[Done.]", talk.reference[1]):
        yield talk.did(action).state
    question = Talk("multiple_2")
    yield question.state
    yield question.did(f"draft{question.reference[0]}").state


def partial_infos(info: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    info = dict(info)
    for part in ("page", "facts"):
        whole = dict(info[part])
        yield {name: value for name, value in info.items() if name != part}
        yield {**info, part: None}
        yield {**info, part: {}}
        for name in whole:
            yield {**info, part: {other: value for other, value in whole.items() if other != name}}
            yield {**info, part: {name: whole[name]}}
    yield {"task_id": "x", "instruction": "Do it."}


def test_a_page_or_facts_that_lack_something_are_read_all_the_same() -> None:
    for moment in moments():
        action = str(moment.history[-1].action) if moment.history else "[f(a=1)]"
        before = State(moment.observation, moment.info)
        for info in partial_infos(moment.info):
            read_by_all(replace(moment, info=info), before, action)
            earlier = Turn(moment.observation, action, info)
            read_by_all(replace(moment, history=(*moment.history, earlier)), replace(moment, info=info), action)


@pytest.mark.parametrize("style", CHATS)
def test_what_a_language_model_predicts_is_read_by_a_language_model(style: str) -> None:
    talk = Talk(BASE)
    first = talk.state
    info = {**first.info, "page": Unpredicted(), "facts": Unpredicted(), "available_actions": ()}
    here = State("It has been moved.", info, history=(Turn(first.observation, talk.reference[0], first.info),))
    messages = chat(style).messages(here)
    assert any("It has been moved." in one["content"] for one in messages)
    assert "It has been moved." in WORDS.candidate(Candidate(talk.reference[0], preview=here))
    assert "It has been moved." in WORDS.values(here)["observation"]
    further = replace(here, history=(*here.history, Turn(here.observation, "[g()]", here.info)))
    assert chat(style).messages(further)
