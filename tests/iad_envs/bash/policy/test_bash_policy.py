"""What is read in a shell instruction, what speaks against a result, how that is scored, and the shell in words."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iad_envs.bash.facts import NOTHING
from iad_envs.bash.policy.effects import Done
from iad_envs.bash.policy.findings import FINDINGS, about_commands, findings_of, requirements
from iad_envs.bash.policy.instruction import Asked, read_instruction
from iad_envs.bash.policy.rendering import ShellRendering
from iad_envs.bash.policy.verifier import BashVerifier, weights
from iad_envs.core import IADEnv
from iad_policy.types import Candidate, PublicInfo, State, Turn, Verdict


class Ran(NamedTuple):
    command: str
    output: str
    facts: Mapping[str, Any]
    cwd: str


def ran(command: str, output: str = "", *, cwd: str = "/", **facts: Any) -> Ran:
    counts = {f"n_{kind}": len(facts.get(kind, ())) for kind in ("created", "changed", "deleted")}
    return Ran(command, output, {**counts, **facts}, cwd)


def state(instruction: str, *, output: str = "", submitted: bool = False, cwd: str = "/", **facts: Any) -> State:
    page = {"output": output, "cwd": cwd, "submitted": submitted}
    told = {"instruction": instruction, "page": page, "facts": {**NOTHING, **facts}}
    return State("", PublicInfo({**told, "invalid_action": bool(facts.get("complaint"))}, IADEnv.GOLD_INFO))


def episode(instruction: str, *commands: Ran, steps_left: float = math.inf) -> State:
    now = State("", state(instruction).info, steps_left=steps_left + len(commands))
    for one in commands:
        then = state(instruction, output=one.output, cwd=one.cwd, **one.facts)
        history = (*now.history, Turn("", one.command, now.info))
        now = State("", then.info, history=history, steps_left=now.steps_left - 1)
    return now


def candidate(instruction: str, *commands: Ran, steps_left: float = math.inf) -> Candidate:
    preview = episode(instruction, *commands, steps_left=steps_left)
    return Candidate(commands[-1].command, preview=preview)


def submission(instruction: str) -> Candidate:
    return Candidate("submit", preview=state(instruction, submitted=True), is_terminal=True)


def test_an_instruction_is_read_for_what_is_asked_paths_kinds_words_and_numbers() -> None:
    for instruction, asked in (
        ("How many .log files are there under /a?", Asked(False, False, "", "number", None)),
        ("Compute the mean average of the word count of *.txt files in /a", Asked(False, False, "", "number", None)),
        ("Count lines in each *.php file in /a", Asked(False, False, "", "text", None)),
        ("Calculate the md5 sum of the sorted list of md5 sums of all files", Asked(False, False, "", "digest", None)),
        ("Count md5sum of all '*.py' files in /a with subfolders.", Asked(False, False, "", "digest", None)),
        ("Find every css file in /a and its subfolders and print its path.", Asked(False, False, "", "paths", None)),
        ("Show the first 4 lines of /a/b.txt.", Asked(False, False, "", "text", 4)),
        ("Print the five largest files under /a", Asked(False, False, "", "text", 5)),
        ("Compress files in /a modified more than 7 days ago", Asked(True, None, "compress", "nothing", None)),
        ("Delete all .tmp files under /a/b.", Asked(True, True, "delete", "nothing", None)),
        ("Get rid of the files ending in .log in /a: delete them.", Asked(True, True, "get rid", "nothing", None)),
        ("Locate and remove large files in /a", Asked(True, True, "remove", "nothing", None)),
        ("Copies all files below /a to /b", Asked(True, False, "copy", "nothing", None)),
        ("Change permissions to 755 and print the number of files", Asked(True, None, "change", "number", None)),
        ("Change directory to the folder of the command 'python'", Asked(False, False, "change", "text", None)),
        ("Remove newline characters from '/a/b.txt'", Asked(None, None, "remove", "text", None)),
        ("Add up column 2 of /a/b.csv and print the sum.", Asked(False, False, "add", "number", None)),
        ("Create a table of all information in /a/b.txt", Asked(None, None, "create", "text", None)),
    ):  # fmt: skip
        assert read_instruction(instruction).asked == asked, instruction
    errand = read_instruction("Print the 3 lines of /a/b.txt, from the csv files, with 'x y' before 2022-01-05.")
    assert (errand.paths, errand.endings, errand.quoted) == (("/a/b.txt",), ("csv",), ("x y",))
    assert errand.numbers == ("3",)  # a date is no number
    assert errand.plain == "print the 3 lines of it, from the csv files, with it before 2022-01-05."
    assert read_instruction("Remove junk files from '/a', sorted by file").endings == ()  # "junk" is no ending
    assert read_instruction("List the log files and *.o files").endings == ("log", "o")
    assert read_instruction("Remove '*.txt' in /a but not in it's folders, as in 'b'").quoted == ("*.txt", "b")


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
    return [verdicts(state(COUNT), candidate(COUNT, command))[0].score for command in commands]


def submitted(instruction: str, *commands: Ran) -> Verdict:
    return verdicts(episode(instruction, *commands), submission(instruction))[0]


def test_failures_errors_and_silence_lower_a_score() -> None:
    erring = ran(FINDS, "find: '/a/logs/x': No such file or directory\n4\n")
    good, failed, error, silent, unknown = scores(GOOD, FAILED, erring, SILENT, UNKNOWN)
    assert good > error > failed > unknown
    assert good > silent
    with pytest.raises(ValueError, match="expected a preview"):
        verdicts(state(COUNT), Candidate("ls"))


def test_agreement_counts_and_does_not_depend_on_who_stands_where() -> None:
    pairs = ((FINDS, "4\n"), (f"{FINDS} | cat", "4\n"), (f"{FINDS} -l", "5\n"))
    same, again, other = (candidate(COUNT, ran(*pair)) for pair in pairs)
    together = [verdict.score for verdict in verdicts(state(COUNT), same, again, other)]
    assert together[0] == together[1] > together[2]
    turned = [verdict.score for verdict in verdicts(state(COUNT), other, again, same)]
    assert turned == together[::-1]
    # A candidate's repetition counts through the set only, and does not lift failures above results.
    assert scores(GOOD) == [together[2]]
    failed, good = candidate(COUNT, FAILED), candidate(COUNT, GOOD)
    one, two, best = verdicts(state(COUNT), failed, failed, good)
    assert one.score == two.score < best.score


def test_a_submission_passes_if_nothing_is_missing_and_the_last_step_is_for_it() -> None:
    clean, failed, nothing = submitted(COUNT, GOOD), submitted(COUNT, FAILED), submitted(COUNT)
    assert (clean.passed, failed.passed, nothing.passed) == (True, False, False)
    assert clean.score > failed.score > nothing.score == 0.0
    assert "Exit code 1: find: '/b': No such file or directory." in failed.critique
    assert nothing.critique == "Nothing was done yet."
    # A command passes if nothing speaks against it, as it does against one that only looks.
    two = verdicts(state(COUNT), *(candidate(COUNT, one) for one in (GOOD, LOOK)))
    assert [verdict.passed for verdict in two] == [True, None]
    moved = submitted("Change directory to /a", ran("cd /a", cwd="/a"))
    assert (moved.passed, moved.critique) == (True, "Nothing speaks against it.")
    idle = submitted(COMPRESS, ran("find /a -type f -mtime +7", "/a/b\n"))
    assert "No file changed: is there nothing to compress?" in idle.critique
    done = ran("find /a -type f -mtime +7 -exec gzip {} +", created=("/a/b.gz",), deleted=("/a/b",))
    assert submitted(COMPRESS, done).score > 0.5 > idle.score
    here = episode(COUNT, GOOD, steps_left=5)
    others = [candidate(COUNT, GOOD, one, steps_left=4) for one in (GOOD, LOOK, FAILED)]
    submit, again, *rest = verdicts(here, submission(COUNT), *others)
    assert submit.score > max(verdict.score for verdict in (again, *rest))
    assert again.critique == "It repeats an earlier command with the same output."
    here = episode(COUNT, FAILED, steps_left=1)
    submit, command = verdicts(here, submission(COUNT), candidate(COUNT, FAILED, GOOD, steps_left=0))
    assert submit.score > command.score == 0.0
    assert command.critique == "It leaves no step to submit."


@pytest.mark.parametrize("last", [FAILED, UNKNOWN, SILENT, ran("sleep 99", timed_out=True, exit_code=137)])
@pytest.mark.parametrize("next_one", [GOOD, LOOK, FAILED, SILENT, UNKNOWN])
def test_handing_in_a_known_failure_never_ties_with_going_on(last: Ran, next_one: Ran) -> None:
    here = episode(COUNT, last, steps_left=5)
    submit, goes_on = verdicts(here, submission(COUNT), candidate(COUNT, last, next_one, steps_left=4))
    assert submit.score < goes_on.score


COMMANDS = st.lists(st.sampled_from([GOOD, LOOK, FAILED, UNKNOWN, SILENT]), min_size=1, max_size=4)
TASKS = st.sampled_from([COUNT, DELETE, COMPRESS])


@given(TASKS, COMMANDS, st.permutations(range(4)))
def test_scores_are_in_the_unit_interval_and_free_of_order(task: str, commands: list[Ran], order: list[int]) -> None:
    here = episode(task, *commands[:-1])
    made = [candidate(task, *commands[:-1], last) for last in (commands[-1], GOOD, FAILED)] + [submission(task)]
    found = verdicts(here, *made)
    assert all(0.0 <= verdict.score <= 1.0 for verdict in found)
    assert verdicts(here, *(made[place] for place in order)) == [found[place] for place in order]
    assert (weights()[1].keys() <= set(FINDINGS), max(weights()[1].values()) < 0.0) == (True, True)


AVERAGE = "Compute the mean average of the word count of *.txt files in the /a directory"
DIGEST = 'Calculate the md5 sum of the sorted list of md5 sums of all ".py" files under /a'
PATHS = "Find every css file in /a and its subfolders and print its path."
SUM = "8d777f385d3dfec8815d20f7496026dc"


def found(instruction: str, *commands: Ran) -> dict[str, str]:
    findings = findings_of(Done.until(episode(instruction, *commands)))
    assert findings.keys() <= set(FINDINGS)
    assert all(0.0 < finding.degree <= 1.0 for finding in findings.values())
    return {name: finding.text for name, finding in findings.items()}


@pytest.mark.parametrize(("instruction", "command"), [
    (AVERAGE, ran("cat $(find /a -name '*.txt') | wc -w | awk '{print $1 / 3}'", "4.18182\n")),
    (DIGEST, ran("find /a -name '*.py' -exec md5sum {} + | awk '{print $1}' | sort | md5sum", f"{SUM}  -\n")),
    (COUNT, ran("find /a/logs -name '*.log' | wc -l", "4\n")),
    (PATHS, ran("find /a -name '*.css'", "/a/x.css\n/a/b/y.css\n")),
    (DELETE, ran("find /a/b -name '*.tmp' -delete", deleted=("/a/b/c.tmp",))),
    (COMPRESS, ran("find /a -type f -mtime +7 -exec gzip {} +", created=("/a/b.gz",), deleted=("/a/b",))),
    ("Change directory to /a", ran("cd /a", cwd="/a")),
    ("Find the files in /a that are called 'Foo.c', in any case", ran("find /a -iname foo.c", "/a/foo.c\n")),
    ("Remove the spaces around ' x y '", ran("echo ' x y ' | sed 's/^ *//; s/ *$//'", "x y\n")),
    ("Print the numbers 1 to 3 with ':' between them", ran("i=1; echo $i:2:3", "1:2:3\n")),
    ("Find files that others can't write in /a", ran("find /a ! -perm /o+w", "/a/x\n")),
    ("Move /a/x to /b if there is no /c", ran("[ -e /c ] || mv /a/x /b", created=("/b",), deleted=("/a/x",))),
    ("Extract the archive /a/x.tar to /b", ran("tar -xf /a/x.tar -C /b", created=("/b/y",))),
])  # fmt: skip
def test_nothing_speaks_against_the_kind_of_result_that_is_asked_for(instruction: str, command: Ran) -> None:
    assert found(instruction, command) == {}


@pytest.mark.parametrize(("instruction", "command", "text"), [
    (COUNT, ran("find /a/logs -name '*.log'", "/a/logs/x.log\n/a/logs/y.log\n/a/logs/z.log\n"),
     "the task asks for a number, the output is 3 lines"),
    (COUNT, ran("find /a/logs -name '*.log' | wc -l; echo done", "4 files\n"),
     "the task asks for a number, the output has more than that: 4 files"),
    (DIGEST, ran("md5sum /a/*.py", f"{SUM}  /a/x.py\n{SUM}  /a/y.py\n"),
     "the task asks for one checksum, the output has 2"),
    (DIGEST, ran("cat /a/*.py | sort | wc -l", "46\n"), "the task asks for a checksum, the output has: 46"),
    (PATHS, ran("grep -r css /a", "/a/b.html: a css\n"),
     "the task asks for files or folders, the output has: /a/b.html: a css"),
    (PATHS, ran("find /a -name '*css*'", "/a/css.txt\n"),
     "the task is about .css files, the output has: /a/css.txt"),
    (COMPRESS, ran("find /a -type f -mtime +7 -exec zip {} +"), "no file changed: is there nothing to compress?"),
    (COUNT, ran("find /a/logs -name '*.log' | wc -l > n", created=("/n",)),
     "the task asks for an answer only; changed: /n"),
    (COUNT, ran("find /a/logs -name '*.log' | grep x"),
     "the task asks for an answer, and the last command printed nothing"),
    (DELETE, ran("rm -v /a/b/*.tmp", "removed '/a/b/c.tmp'\n", deleted=("/a/b/c.tmp",)),
     "the last command prints text, which is handed in too: does the task ask for it?"),
    (DELETE, ran("rm /z/*.tmp /a/b/*.tmp", deleted=("/z/c.tmp",)),
     "it changes what the task does not name: /z/c.tmp"),
    (DELETE, ran("rm /a/b/*.txt .tmp", deleted=("/a/b/c.txt",)),
     "the task is about .tmp files; changed: /a/b/c.txt"),
    (DELETE, ran("mv /a/b/c.tmp .", changed=("/a/b",)),
     "the task asks to take something away, and nothing is gone"),
    ("Copy /a/x.txt into /b", ran("cp /a/x.txt /c", created=("/c",)), "nothing is new in /b"),
    ("Copy /a/x.txt into /b", ran("mv /a/x.txt /b", created=("/b/x.txt",), deleted=("/a/x.txt",)),
     "it removes what should stay: /a/x.txt"),
    ("Show the first 4 lines of /a/b.txt", ran("head -n 5 /a/b.txt", "1\n2\n3\n4\n5\n"),
     "the task asks for 4 lines, the output has 5"),
    ("Print the lines of /a/b.txt that contain 'x'", ran("cat /a/b.txt", "x\n"),
     "the task names x, the command does not"),
    ("Print the lines of /a/b.txt that contain 'x'", ran("grep x /a/b.txt /c/d.txt", "x\n"),
     "the task does not name /c/d.txt"),
    ("Search for 'x' case insensitively in /a", ran("grep -r x /a", "/a/b:x\n"),
     "the task asks for no difference of case (-i, -iname): the command has none"),
    (COUNT, ran("find /a/logs -name '*.log' | wc -l", "0\n"),
     "the number is 0: does the command look at the right files?"),
    (COUNT, ran("find /b", "find: '/b': No such file or directory\n", exit_code=1),
     "exit code 1: find: '/b': No such file or directory"),
    (COUNT, ran("find /b; true", "find: '/b': No such file or directory\n"),
     "its output has an error: find: '/b': No such file or directory"),
    (COUNT, ran("fnd", "bash: fnd: command not found\n", exit_code=127, complaint="no such command"),
     "the shell could not run it: bash: fnd: command not found"),
    (COUNT, ran("grep x /a/logs/y", exit_code=1), "exit code 1 and no output: nothing was found"),
    (COUNT, ran("sleep 99", exit_code=137, timed_out=True), "it was ended at the time limit"),
    ("Count the lines of all .c files in /a",
     ran("find /a -name '*.c' | xargs wc -l | awk '{s += $1} END {print s}'", "8\n"),
     "wc prints a total after several files, which this adds up as well"),
    ("Count the lines of each .c file in /a", ran("find /a -name '*.c' -exec cat {} + | wc -l", "8\n"),
     "the task asks for something of each, and the output is one line"),
    ("Find the files in /a that are called 'Foo.c'", ran("find /a -name foo.c", "/a/foo.c\n"),
     "the task writes Foo.c, the command has it in other case"),
    ("Remove all a.out and *.o in /a", ran("find /a -name a.out -o -name '*.o' -exec rm {} +", deleted=("/a/b.o",)),
     "without parentheses, what follows -o belongs to the last alternative only"),
])  # fmt: skip
def test_each_finding_is_told_in_words(instruction: str, command: Ran, text: str) -> None:
    assert text in found(instruction, command).values()


def test_a_header_is_left_out_where_it_would_count_and_earlier_commands_count_too() -> None:
    values = "How many different values does column 2 of /a/m.csv have, without the header?"
    for instruction, command, is_told in (
        ("Sum column 3 of /a/m.csv, which has a header line.", "awk -F, '{s += $3} END {print s}' /a/m.csv", False),
        ("Print the mean of column 3 of /a/m.csv, which has a header line.",
         "awk -F, '{s += $3; n++} END {print s / n}' /a/m.csv", True),
        (values, "cut -d, -f2 /a/m.csv | sort -u | wc -l", True),
        (values, "grep -v date /a/m.csv | cut -d, -f2 | sort -u | wc -l", False),
    ):  # fmt: skip
        assert ("header" in found(instruction, ran(command, "7\n")).get("lacks", "")) is is_told, command
    new_folder = ran("mkdir /b", created=("/b",))
    assert found("Copy /a/x.txt into the new folder /b", new_folder, ran("cp /a/x.txt /b", created=("/b/x.txt",))) == {}
    undone = found(DELETE, ran("touch /a/b/.tmp", created=("/a/b/.tmp",)), ran("rm /a/b/.tmp", deleted=("/a/b/.tmp",)))
    assert "nothing_changed" in undone
    at_the_place = found(COUNT, ran("cd /a/logs", cwd="/a/logs"), ran("ls *.log | wc -l", "4\n", cwd="/a/logs"))
    assert "unused" not in at_the_place
    denied = "find: '/a/logs/private': Permission denied\n4\n"  # what nobody may read is no answer
    assert "not_a_number" not in found(COUNT, ran("find /a/logs -name '*.log' | wc -l", denied))


def test_a_mistake_is_found_over_a_line_break_and_a_requirement_is_not_fulfilled_by_accident() -> None:
    facts = {"facts": {"n_created": 0, "n_changed": 0, "n_deleted": 0}, "page": {"output": ""}}
    for command, name in {
        "find . -name a -o -name b \\\n-o -name c -exec rm {} +": "loose_or",
        "find . -name a -o -name b -o\n-name c -delete": "loose_or",
        "wc -l * | awk '{print}' |\nawk '{n += $1}'": "adds_up_totals",
    }.items():
        done = Done(read_instruction("count lines"), (command,), (facts,))
        assert name in [one for one, _ in about_commands(done)], command
    assert all(one.need and not one.has.search("") and not one.says.search("") for one in requirements())


WORDS = ShellRendering()


def info(step: int, cwd: str = "/", **facts: Any) -> dict[str, Any]:
    told = state("Count the files.", cwd=cwd, missing_tools=("ed", "tree"), **facts).info
    return {**told, "available_actions": ("pwd", "submit"), "step": step}


def test_words_name_the_last_action_touched_files_with_their_number_and_keep_an_exit_code() -> None:
    last, start = State("3", info(1), steps_left=1), Turn("Count the files.", "cd /shelf", info(0))
    assert WORDS.steps_left(last) == "Actions left: 1. Without submit as the last one, nothing counts."
    paths = tuple(f"/shelf/{number}" for number in range(20))
    touched = info(1, created=paths, n_created=500, deleted=("/a",), n_deleted=1)
    told = f"Files created: {', '.join(paths[:8])} and 492 more\nFiles deleted: /a"
    assert WORDS.facts(State("[exit code 0]", touched, history=(start,))) == told
    output = "\n".join([*(f"/shelf/{number}" for number in range(5000)), "[exit code 1]"])
    second = Turn(output, "ls", info(1, "/shelf"))
    now = State(output, info(1, "/shelf"), history=(start,))
    assert WORDS.page(now).endswith("[exit code 1]\nWorking directory: /shelf")
    later = State("[exit code 0]", info(2, "/shelf"), history=(start, second))
    (first, _) = WORDS.turns(later)
    assert "[exit code 1]\n   Working directory: /shelf" in first
    assert len(first) < 1_200
