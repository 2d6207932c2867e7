"""The keyless agent and the proxy verifier of `IAD/InterCodeBash-v0`, on hand-made states."""

from random import Random
from typing import Any

import pytest

from iad_envs.bash.facts import NOTHING
from iad_policy.domains.bash.agent import BashAgent, plans_for
from iad_policy.domains.bash.reading import read_instruction
from iad_policy.domains.bash.verifier import BashVerifier
from iad_policy.types import Candidate, Feedback, PublicInfo, State, Turn

COUNT = "How many .log files are there under /a/logs?"
DELETE = "Delete all .tmp files under /a/b."
GOLD_KEYS = frozenset({"progress", "success", "reward_parts"})


def state(instruction: str, *, output: str = "", submitted: bool = False, **facts: Any) -> State:
    info = {
        "instruction": instruction,
        "invalid_action": False,
        "page": {"output": output, "cwd": "/", "submitted": submitted},
        "facts": {**NOTHING, **facts},
    }
    return State("", PublicInfo(info, GOLD_KEYS))


def after(instruction: str, action: str = "x", **facts: Any) -> Candidate:
    return Candidate(action, preview=state(instruction, **facts))


def scores(instruction: str, *candidates: Candidate) -> list[float]:
    return [verdict.score for verdict in BashVerifier().verify(state(instruction), candidates, ())]


def test_an_instruction_is_read_for_paths_kinds_words_and_numbers() -> None:
    errand = read_instruction("Print the 3 lines of /a/b.txt, from the csv files, with 'x y' before 2022-01-05.")
    assert errand.paths == ("/a/b.txt",)
    assert errand.endings == ("csv",)
    assert errand.quoted == ("x y",)
    assert errand.numbers == ("3",)
    assert errand.date == "2022-01-05"
    assert read_instruction(DELETE).asks_for_removal
    assert read_instruction(COUNT).asks_for_number
    assert not read_instruction(COUNT).asks_for_change


def test_greedy_it_takes_the_fitting_pattern_and_submits_what_did_something() -> None:
    agent = BashAgent(temperature=0)

    def propose(at: State) -> Any:
        return agent.propose(at, feedback=None, temperature=None, rng=Random(0)).action

    assert propose(state(COUNT)) == "find /a/logs -type f -name '*.log' | wc -l"
    assert propose(state(DELETE)) == "find /a/b -type f -name '*.tmp' -delete"
    history = (Turn("", "find /a/logs -name '*.log'", state(COUNT).info),)
    done, failed = state(COUNT, output="4\n"), state(COUNT, output="find: no\n", exit_code=1)
    assert propose(State("", done.info, history=history)) == "submit"
    assert propose(State("", failed.info, history=history)) not in ("submit", history[0].action)


def test_a_temperature_makes_it_slip_and_feedback_keeps_it_near_best_and_off_worst() -> None:
    agent = BashAgent()
    drawn = {
        agent.propose(state(COUNT), feedback=None, temperature=None, rng=Random(seed)).action for seed in range(40)
    }
    assert len(drawn) > 5
    best, worst = Candidate("find /a/logs -name '*.log' | wc -l"), Candidate("find /a/logs -type f -name '*.log'")
    told = Feedback("", best, worst)
    plans = plans_for(read_instruction(COUNT))
    kept = [plan for plan in plans if plan.command == best.action]

    def share_near(feedback: Feedback | None) -> float:
        actions = [
            agent.propose(state(COUNT), feedback=feedback, temperature=None, rng=Random(seed)).action
            for seed in range(200)
        ]
        assert feedback is None or not {best.action, worst.action} & set(actions)
        near = {plan.command for plan in plans if plan.is_near(kept[0])}
        return sum(action in near for action in actions) / len(actions)

    assert share_near(told) > share_near(None)


def test_it_says_so_where_it_knows_no_command_and_refuses_a_negative_temperature() -> None:
    agent = BashAgent()
    assert agent.propose(state("Hm."), feedback=None, temperature=None, rng=Random(0)).action == "ls -la"
    with pytest.raises(ValueError, match="temperature of 0 or more"):
        BashAgent(temperature=-1)


def test_failures_errors_and_silence_lower_a_score() -> None:
    good, failed, error, silent = scores(
        COUNT,
        after(COUNT, output="4\n"),
        after(COUNT, output="4\n", exit_code=1),
        after(COUNT, output="find: no such file\n"),
        after(COUNT),
    )
    assert good > failed > error
    assert good > silent


def test_a_number_is_expected_where_one_is_asked_for() -> None:
    number, list_ = scores(COUNT, after(COUNT, output="4\n"), after(COUNT, output="/a/logs/x.log\n/a/logs/y.log\n"))
    assert number > list_


def test_changes_are_judged_by_what_the_instruction_names() -> None:
    right, elsewhere, other_kind, nothing = scores(
        DELETE,
        after(DELETE, deleted=("/a/b/c.tmp",), n_deleted=1),
        after(DELETE, deleted=("/z/c.tmp",), n_deleted=1),
        after(DELETE, deleted=("/a/b/c.txt",), n_deleted=1),
        after(DELETE),
    )
    assert right > max(elsewhere, other_kind, nothing)
    kept, destroyed = scores(
        COUNT, after(COUNT, output="4\n"), after(COUNT, output="4\n", deleted=("/a/logs/x.log",), n_deleted=1)
    )
    assert kept > destroyed


def test_agreement_counts_and_does_not_depend_on_who_stands_where() -> None:
    one, same, other = after(COUNT, output="4\n"), after(COUNT, "y", output="4\n"), after(COUNT, "z", output="5\n")
    verifier, here = BashVerifier(), state(COUNT)
    together = [verdict.score for verdict in verifier.verify(here, [one, same, other], ())]
    assert together[0] == together[1] > together[2]
    assert [verifier.verify(here, [one], [same, other])[0].score] == together[:1]


def test_submitting_is_judged_by_what_the_last_command_did() -> None:
    submit = after(COUNT, "submit", submitted=True)
    history = (Turn("", "find", state(COUNT).info),)
    verifier = BashVerifier()
    at_once, after_good, after_bad = (
        verifier.verify(at, [submit], ())[0].score
        for at in (
            state(COUNT),
            State("", state(COUNT, output="4\n").info, history=history),
            State("", state(COUNT, exit_code=1).info, history=history),
        )
    )
    assert after_good > after_bad > at_once
    with pytest.raises(ValueError, match="expected a preview"):
        verifier.verify(state(COUNT), [Candidate("ls")], ())
