"""The proxy verifier of `IAD/InterCodeBash-v0`, on hand-made states."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iad_envs.bash.policy.findings import FINDINGS
from iad_envs.bash.policy.verifier import BashVerifier, weights
from iad_policy.types import Candidate, State, Verdict
from tests.iad_envs.bash.policy.shell_states import Ran, candidate, episode, ran, state, submission

COUNT = "How many .log files are there under /a/logs?"
COMPRESS = "Compress regular files in the /a directory tree that were last modified more than 7 days ago"
DELETE = "Delete all .tmp files under /a/b."
FINDS = "find /a/logs -name '*.log' | wc -l"
GOOD = ran(FINDS, "4\n")
LOOK = ran("ls /a/logs", "x.log\ny.log\n")
FAILED = ran("find /b -name '*.log' | wc", "find: '/b': No such file or directory\n", exit_code=1)
UNKNOWN = ran("fnd", "bash: fnd: command not found\n", exit_code=127, complaint="no such command")
SILENT = ran("find /a/logs -name '*.log' | grep x; true")


def verdicts(at: State, *candidates: Candidate) -> Sequence[Verdict]:
    return BashVerifier().verify(at, candidates)


def scores(*commands: Ran) -> list[float]:
    """Score commands in the start state, each alone."""
    return [verdicts(state(COUNT), candidate(COUNT, command))[0].score for command in commands]


def submitted(instruction: str, *commands: Ran) -> Verdict:
    return verdicts(episode(instruction, *commands), submission(instruction))[0]


def test_failures_errors_and_silence_lower_a_score() -> None:
    good, failed, error, silent, unknown = scores(
        GOOD, FAILED, ran(FINDS, "find: '/a/logs/x': No such file or directory\n4\n"), SILENT, UNKNOWN
    )
    assert good > error > failed > unknown
    assert good > silent
    with pytest.raises(ValueError, match="expected a preview"):
        verdicts(state(COUNT), Candidate("ls"))


def test_agreement_counts_and_does_not_depend_on_who_stands_where() -> None:
    same, again, other = (
        candidate(COUNT, ran(command, output))
        for command, output in ((FINDS, "4\n"), (f"{FINDS} | cat", "4\n"), (f"{FINDS} -l", "5\n"))
    )
    together = [verdict.score for verdict in verdicts(state(COUNT), same, again, other)]
    assert together[0] == together[1] > together[2]
    turned = [verdict.score for verdict in verdicts(state(COUNT), other, again, same)]
    assert turned == together[::-1]
    # A candidate's repetition counts through the set only, and does not lift failures above results.
    assert scores(GOOD) == [together[2]]
    failed, good = candidate(COUNT, FAILED), candidate(COUNT, GOOD)
    one, two, best = verdicts(state(COUNT), failed, failed, good)
    assert one.score == two.score < best.score


def test_a_submission_passes_only_if_nothing_is_missing() -> None:
    clean, failed, nothing = submitted(COUNT, GOOD), submitted(COUNT, FAILED), submitted(COUNT)
    assert (clean.passed, failed.passed, nothing.passed) == (True, False, False)
    assert clean.score > failed.score > nothing.score == 0.0
    assert "Exit code 1: find: '/b': No such file or directory." in failed.critique
    assert nothing.critique == "Nothing was done yet."
    # A command passes if nothing speaks against it, as it does against one that only looks.
    assert [verdict.passed for verdict in verdicts(state(COUNT), *(candidate(COUNT, one) for one in (GOOD, LOOK)))] == [
        True,
        None,
    ]
    moved = submitted("Change directory to /a", ran("cd /a", cwd="/a"))
    assert (moved.passed, moved.critique) == (True, "Nothing speaks against it.")
    idle = submitted(COMPRESS, ran("find /a -type f -mtime +7", "/a/b\n"))
    assert "No file changed: is there nothing to compress?" in idle.critique
    done = ran("find /a -type f -mtime +7 -exec gzip {} +", created=("/a/b.gz",), deleted=("/a/b",))
    assert submitted(COMPRESS, done).score > 0.5 > idle.score


@pytest.mark.parametrize("last", [FAILED, UNKNOWN, SILENT, ran("sleep 99", timed_out=True, exit_code=137)])
@pytest.mark.parametrize("next_one", [GOOD, LOOK, FAILED, SILENT, UNKNOWN])
def test_handing_in_a_known_failure_never_ties_with_going_on(last: Ran, next_one: Ran) -> None:
    here = episode(COUNT, last, steps_left=5)
    submit, goes_on = verdicts(here, submission(COUNT), candidate(COUNT, last, next_one, steps_left=4))
    assert submit.score < goes_on.score


def test_a_good_result_is_handed_in_and_not_made_again_and_the_last_step_is_for_submitting() -> None:
    here = episode(COUNT, GOOD, steps_left=5)
    others = [candidate(COUNT, GOOD, one, steps_left=4) for one in (GOOD, LOOK, FAILED)]
    submit, again, *rest = verdicts(here, submission(COUNT), *others)
    assert submit.score > max(verdict.score for verdict in (again, *rest))
    assert again.critique == "It repeats an earlier command with the same output."
    here = episode(COUNT, FAILED, steps_left=1)
    submit, command = verdicts(here, submission(COUNT), candidate(COUNT, FAILED, GOOD, steps_left=0))
    assert submit.score > command.score == 0.0
    assert command.critique == "It leaves no step to submit."


COMMANDS = st.lists(st.sampled_from([GOOD, LOOK, FAILED, UNKNOWN, SILENT]), min_size=1, max_size=4)
TASKS = st.sampled_from([COUNT, DELETE, COMPRESS])


@given(TASKS, COMMANDS, st.permutations(range(4)))
def test_scores_are_in_the_unit_interval_and_free_of_the_order(
    task: str, commands: list[Ran], order: list[int]
) -> None:
    here = episode(task, *commands[:-1])
    made = [candidate(task, *commands[:-1], last) for last in (commands[-1], GOOD, FAILED)] + [submission(task)]
    found = verdicts(here, *made)
    assert all(0.0 <= verdict.score <= 1.0 for verdict in found)
    assert verdicts(here, *(made[place] for place in order)) == [found[place] for place in order]


def test_only_findings_have_weights_and_none_speaks_for_success() -> None:
    start, of_findings = weights()
    assert start.keys() == {"change", "answer", "either"}
    assert of_findings.keys() <= set(FINDINGS)
    assert max(of_findings.values()) < 0.0
