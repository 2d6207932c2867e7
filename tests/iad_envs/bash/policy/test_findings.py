"""What speaks against a result in the shell, and the words for it."""

import pytest

from iad_envs.bash.policy.effects import Done
from iad_envs.bash.policy.findings import FINDINGS, about_commands, findings_of, requirements
from iad_envs.bash.policy.instruction import read_instruction
from tests.iad_envs.bash.policy.shell_states import Ran, episode, ran

AVERAGE = "Compute the mean average of the word count of *.txt files in the /a directory"
COMPRESS = "Compress regular files in the /a directory tree that were last modified more than 7 days ago"
COUNT = "How many .log files are there under /a/logs?"
DELETE = "Delete all .tmp files under /a/b."
DIGEST = 'Calculate the md5 sum of the sorted list of md5 sums of all ".py" files under /a'
PATHS = "Find every css file in /a and its subfolders and print its path."
SUM = "8d777f385d3dfec8815d20f7496026dc"


def found(instruction: str, *commands: Ran) -> dict[str, str]:
    findings = findings_of(Done.until(episode(instruction, *commands)))
    assert findings.keys() <= set(FINDINGS)
    assert all(0.0 < finding.degree <= 1.0 for finding in findings.values())
    return {name: finding.text for name, finding in findings.items()}


@pytest.mark.parametrize(
    ("instruction", "command"),
    [
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
    ],
)
def test_nothing_speaks_against_the_kind_of_result_that_is_asked_for(instruction: str, command: Ran) -> None:
    assert found(instruction, command) == {}


@pytest.mark.parametrize(
    ("instruction", "command", "text"),
    [
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
    ],
)  # fmt: skip
def test_each_finding_is_told_in_words(instruction: str, command: Ran, text: str) -> None:
    assert text in found(instruction, command).values()


@pytest.mark.parametrize(
    ("instruction", "command", "is_told"),
    [
        ("Sum the values in column 3 of /a/m.csv, which has a header line.",
         "awk -F, '{s += $3} END {print s}' /a/m.csv", False),
        ("Print the mean of column 3 of /a/m.csv, which has a header line.",
         "awk -F, '{s += $3; n++} END {print s / n}' /a/m.csv", True),
        ("How many different values does column 2 of /a/m.csv have, without the header?",
         "cut -d, -f2 /a/m.csv | sort -u | wc -l", True),
        ("How many different values does column 2 of /a/m.csv have, without the header?",
         "grep -v date /a/m.csv | cut -d, -f2 | sort -u | wc -l", False),
    ],
)  # fmt: skip
def test_a_header_is_left_out_where_it_would_count(instruction: str, command: str, is_told: bool) -> None:
    assert ("header" in found(instruction, ran(command, "7\n")).get("lacks", "")) is is_told


def test_what_earlier_commands_did_counts_too() -> None:
    new_folder = ran("mkdir /b", created=("/b",))
    assert found("Copy /a/x.txt into the new folder /b", new_folder, ran("cp /a/x.txt /b", created=("/b/x.txt",))) == {}
    undone = found(DELETE, ran("touch /a/b/.tmp", created=("/a/b/.tmp",)), ran("rm /a/b/.tmp", deleted=("/a/b/.tmp",)))
    assert "nothing_changed" in undone
    at_the_place = found(COUNT, ran("cd /a/logs", cwd="/a/logs"), ran("ls *.log | wc -l", "4\n", cwd="/a/logs"))
    assert "unused" not in at_the_place
    denied = "find: '/a/logs/private': Permission denied\n4\n"  # what nobody may read is no answer
    assert "not_a_number" not in found(COUNT, ran("find /a/logs -name '*.log' | wc -l", denied))


def test_a_requirement_is_not_fulfilled_by_accident() -> None:
    for one in requirements():
        assert one.need
        assert not one.has.search("")
        assert not one.says.search("")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("find . -name a -o -name b \\\n-o -name c -exec rm {} +", "loose_or"),
        ("find . -name a -o -name b -o\n-name c -delete", "loose_or"),
        ("wc -l * | awk '{print}' |\nawk '{n += $1}'", "adds_up_totals"),
    ],
)
def test_a_mistake_is_found_over_a_line_break(command: str, name: str) -> None:
    info = {"facts": {"n_created": 0, "n_changed": 0, "n_deleted": 0}, "page": {"output": ""}}
    done = Done(read_instruction("count lines"), (command,), (info,))
    assert name in [one for one, _ in about_commands(done)]
