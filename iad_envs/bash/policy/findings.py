"""Everything that speaks against what an episode has done in the shell, told in words. It uses no gold.

What holds of many right commands too is asked, not stated: `benchmarks/support/bash_verifier.py --models` counts it. To
add a kind of finding, yield it in one of the four functions below, name it in `FINDINGS`, and fit the weights again.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from iad_envs.bash.policy.effects import MAX_READ, Done, error_line

FINDINGS = (
    *("failed", "found_nothing", "invalid", "timed_out", "error_text", "nothing_printed", "printed_unasked"),
    *("not_a_number", "one_for_all", "zero", "not_a_digest", "not_paths", "wrong_ending", "wrong_line_count"),
    *("nothing_changed", "changed_unasked", "elsewhere", "target_untouched", "not_removed", "removed_unasked"),
    *("wrong_kind", "unused", "other_case", "unnamed", "lacks", "adds_up_totals", "loose_or", "only_looks"),
)
"""Names of all findings."""
N_NAMED = 3
"""Number of things that a finding names."""
SHORT_WORD = 3
"""Length up to which a word counts only where it stands alone: a short one is a part of many others."""
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?%?[KMGTB]?i?B?", re.IGNORECASE)


class ShellFinding(NamedTuple):
    """Something that speaks against a result.

    Attributes:
        degree: How clear it is, above 0 and up to 1.
        text: The finding in words.
    """

    degree: float
    text: str


Found = Iterator[tuple[str, ShellFinding]]


class CommandRequirement(NamedTuple):
    """Something that words of an instruction ask of a command.

    Attributes:
        says: Finds the words in the instruction.
        has: Finds what fulfils it in the command.
        need: Names it.
    """

    says: re.Pattern[str]
    has: re.Pattern[str]
    need: str


def findings_of(done: Done) -> dict[str, ShellFinding]:
    """Return the findings about what was done, by name. There has to be a command."""
    return dict((*_about_the_end(done), *_about_the_answer(done), *_about_files(done), *about_commands(done)))


def _about_the_end(done: Done) -> Found:
    """Find out how the last command ended."""
    code, output = done.facts["exit_code"], done.output.strip()
    error = error_line(done.output)
    why = f": {_shown((error or output.splitlines()[-1]).strip())}" if output else ""
    # Exit code 1 without an error is that of grep, diff and others that found nothing, or a difference.
    if code and not done.facts["complaint"] and (code != 1 or error):
        yield "failed", ShellFinding(1.0, f"exit code {code}{why}")
    if code == 1 and not output:
        yield "found_nothing", ShellFinding(1.0, "exit code 1 and no output: nothing was found")
    if done.facts["complaint"]:
        yield "invalid", ShellFinding(1.0, f"the shell could not run it{why}")
    if done.facts["timed_out"]:
        yield "timed_out", ShellFinding(1.0, "it was ended at the time limit")
    if error and not code:
        yield "error_text", ShellFinding(1.0, f"its output has an error: {_shown(error)}")


def _about_the_answer(done: Done) -> Found:
    """Compare what the last command printed with the kind of answer that is asked for."""
    asked, lines, n_lines = done.instruction.asked, done.lines, len(done.lines)
    has_other_effect = (asked.change is None and done.touched) or (asked.answer == "text" and done.has_moved)
    if asked.answer != "nothing" and not lines and not has_other_effect:
        text = "the task asks for an answer, and the last command printed nothing"
        yield "nothing_printed", ShellFinding(1.0, text)
    if not lines:
        return
    if asked.answer == "nothing" and not done.facts["exit_code"]:
        text = "the last command prints text, which is handed in too: does the task ask for it?"
        yield "printed_unasked", ShellFinding(1.0, text)
    if asked.answer == "number":
        if n_lines > 1:
            yield "not_a_number", ShellFinding(1.0, f"the task asks for a number, the output is {n_lines} lines")
        elif not _NUMBER.fullmatch(lines[0]):
            begins_with_one = _NUMBER.fullmatch(lines[0].split()[0])
            what = "has more than that" if begins_with_one else "is"
            text = f"the task asks for a number, the output {what}: {_shown(lines[0])}"
            yield "not_a_number", ShellFinding(0.5 if begins_with_one else 1.0, text)
        if re.match(r"0(?:\.0*)?(?:\s|$)", lines[0]):
            yield "zero", ShellFinding(1.0, "the number is 0: does the command look at the right files?")
    if n_lines == 1 and asked.answer != "digest" and re.search(r"\b(?:each|every)\b", done.instruction.plain):
        yield "one_for_all", ShellFinding(1.0, "the task asks for something of each, and the output is one line")
    if asked.answer == "digest":
        others = [line for line in lines if not re.search(r"(?i)\\?[0-9a-f]{32,128}\b", line)]
        n_digests = n_lines - len(others)
        one_digest = r"\S+ (?:the )?(?:md5 ?sum|sha\S*|checksum|hash) (?!.*\bfile ?name)"
        is_one = re.match(one_digest, done.instruction.text) and not re.search(
            r"\b(?:each|every)\b(?!.*\bof that\b)", done.instruction.text
        )
        if n_digests > 1 and is_one:
            text = f"the task asks for one checksum, the output has {n_digests}"
            yield "not_a_digest", ShellFinding(1.0, text)
        else:
            yield from _share("not_a_digest", others, lines, "the task asks for a checksum, the output has: {}")
    if asked.answer == "paths":
        is_path = re.compile(r"(?:\.{0,2}/)?[^\s:|]+(?: [^\s:|/]+)*").fullmatch
        others = [line for line in lines if not is_path(line) or _NUMBER.fullmatch(line)]
        yield from _share("not_paths", others, lines, "the task asks for files or folders, the output has: {}")
        endings = tuple(f".{ending}" for ending in done.instruction.endings)
        if endings and not done.instruction.has_exception:
            others = [line for line in lines if not line.endswith(endings)]
            text = f"the task is about {endings[0]} files, the output has: {{}}"
            yield from _share("wrong_ending", others, lines, text)
    if asked.answer in ("text", "paths") and asked.n_lines not in (None, n_lines):
        # A short file has fewer lines than are asked for.
        degree = 1.0 if asked.n_lines is not None and n_lines > asked.n_lines else 0.5
        text = f"the task asks for {asked.n_lines} lines, the output has {n_lines}"
        yield "wrong_line_count", ShellFinding(degree, text)


def _about_files(done: Done) -> Found:
    """Compare the files that were created, changed and deleted with what is asked for."""
    instruction, touched = done.instruction, sorted(done.touched)
    asked = instruction.asked
    if asked.change is False and touched:
        text = f"the task asks for an answer only; changed: {_listed(touched)}"
        yield "changed_unasked", ShellFinding(1.0, text)
    if asked.change and not touched:
        yield "nothing_changed", ShellFinding(1.0, f"no file changed: is there nothing to {asked.verb}?")
    if not asked.change:
        return
    paths = (path for path in (*instruction.paths, *instruction.quoted) if path.startswith("/"))
    named = list(dict.fromkeys(path.rstrip("/") for path in paths))
    if named and not instruction.words & {"root", "current", "home", "here"}:  # places that have no path
        outside = [
            path
            for path in touched
            # A folder changes with its files, and a new folder comes with those above it.
            if not _is_in(path, named)
            and not any(place.startswith(f"{path}/") for place in named)
            and path.rpartition("/")[2].lower() not in instruction.text
        ]
        yield from _share("elsewhere", outside, touched, "it changes what the task does not name: {}")
    has_target = bool(instruction.words & {"to", "into", "new", "as"} and "if" not in instruction.words and named[1:])
    # "Copy /a to /b", but also "make /b with a copy of /a".
    new = [path for path in done.created | done.changed if has_target and _is_in(path, (named[0], named[-1]))]
    if has_target and touched and not new:
        yield "target_untouched", ShellFinding(1.0, f"nothing is new in {named[-1]}")
    if asked.removal and touched and not done.deleted:
        yield "not_removed", ShellFinding(1.0, "the task asks to take something away, and nothing is gone")
    if asked.removal is False and done.deleted:
        text = f"it removes what should stay: {_listed(sorted(done.deleted))}"
        yield "removed_unasked", ShellFinding(1.0, text)
    names_more = any(not text.startswith(("*", "/")) for text in instruction.quoted)
    # An archive is of another kind than its files, and so is a file whose name stands beside the kind.
    has_other_kinds = re.search(r"archive|compress|zip|tar\b|\w\.\w+\b(?=.*\*\.)", instruction.plain)
    if instruction.endings and not names_more and not has_other_kinds:
        endings = tuple(f".{ending}" for ending in instruction.endings)
        of_some_kind = [path for path in touched if "." in path.rpartition("/")[2]]
        wrong = [path for path in of_some_kind if path.endswith(endings) == instruction.has_exception]
        yield from _share("wrong_kind", wrong, of_some_kind, f"the task is about {endings[0]} files; changed: {{}}")


def about_commands(done: Done) -> Found:
    """Find what the instruction names or calls for and the commands lack, and known mistakes."""
    instruction, command = done.instruction, done.command[:MAX_READ]
    names = [*instruction.paths, *(text for text in instruction.quoted if text not in instruction.paths)]
    uses = [(text, _uses(text, done)) for text in names]
    uses += [(f".{ending}", _has_word(ending, done.working)) for ending in instruction.endings]
    uses += [(number, _has_number(number, done.working)) for number in instruction.numbers if number != "0"]
    unused = [text for text, is_used in uses if not is_used]
    yield from _share("unused", unused, uses, "the task names {}, the command does not")
    if not re.search(r"\s-\w*i|--ignore-case|IGNORECASE|tolower", done.working):
        single = [text for text in names if " " not in text]
        otherwise = [text for text in single if text not in done.working and text.lower() in done.working.lower()]
        yield from _share("other_case", otherwise, single, "the task writes {}, the command has it in other case")

    if instruction.paths or any(text.startswith("/") for text in instruction.quoted):
        known = [instruction.text, *(output.lower() for output in done.outputs[:-1])]
        without_scripts = re.sub(r"'s[/,|#].*?'|-perm\s+\S+", " ", command)
        paths = dict.fromkeys(re.findall(r"(?<![\w.*}~-])/(?!\d+\b)[\w.+-]+(?:/[\w.+-]+)*", without_scripts))
        own = [path for path in paths if not path.startswith(("/dev", "/bin", "/usr/bin", "/tmp", "/proc", "/etc"))]
        strange = [path for path in own if not any(path.rpartition("/")[2].lower() in text for text in known)]
        yield from _share("unnamed", strange, own, "the task does not name {}")

    called_for = [one for one in requirements() if one.says.search(instruction.plain)]
    missing = [one.need for one in called_for if not one.has.search(done.working)]
    if missing:  # two missing things are surely not the right command
        text = f"the task asks for {'; '.join(missing[:N_NAMED])}: the command has none"
        yield "lacks", ShellFinding(min(len(missing) / 2, 1.0), text)

    # For a single file wc prints no total. Here and below the first place on a line will do, or one at its end, behind
    # which the command goes on: to try all takes time that grows with the cube of the length.
    adds_up = r"\bwc\b(?!.*(?:grep -v|head -n -1|\$2 ?!=|NR ?-|sed '\$d'))(?:(?>.*?\|\s*+awk\b)|(?>.*\|\s*+awk\b)).*\+="
    if re.search(adds_up, command) and re.search(r"\{\}\s*\\?\+|\bxargs\b|\*", command):
        has_seen_total = any(re.search(r"(?m)^[^\S\n]*+\d+ total$", output) for output in done.outputs)
        text = "wc prints a total after several files, which this adds up as well"
        yield "adds_up_totals", ShellFinding(1.0 if has_seen_total else 0.5, text)

    or_before_action = (
        r"\bfind\b(?>.*?-name)(?:(?>.*?\s-or?\s)|.*+\n-or?\s|.*\s-or?\n)"
        r".*\s-(?:exec|execdir|delete|print0|printf|type|size|mtime|newer)\b"
    )
    if re.search(or_before_action, done.working) and not re.search(r"\\\(|'\('", done.working):
        text = "without parentheses, what follows -o belongs to the last alternative only"
        yield "loose_or", ShellFinding(1.0, text)

    *others, last = re.split(r"(?:\|\|?|&&|;)\s*+", command)
    steps = [step for step in (*map(str.rstrip, others), last) if step.strip() and not step.startswith("cd ")]
    looks = re.compile(r"\s*(?:ls|cat|pwd|find|tree)(?:\s+-[la]+)?(?:\s+[\w./~*][\w./~*-]*)*\s*").fullmatch
    if steps and all(map(looks, steps)):
        yield "only_looks", ShellFinding(1.0, "it shows what is there, without a choice or a change")


@lru_cache(maxsize=1)
def requirements() -> Sequence[CommandRequirement]:
    """Return the requirements in `requirements.toml`."""
    tables = tomllib.loads(Path(__file__).with_name("requirements.toml").read_text(encoding="utf-8"))
    return [
        CommandRequirement(re.compile(table["says"]), re.compile(table["has"]), table["need"])
        for table in tables.values()
    ]


def _uses(text: str, done: Done) -> bool:
    """Whether a command uses a name of the instruction."""
    wanted, working = " ".join(text.split()).strip("/").lower(), " ".join(done.working.lower().split())
    last = wanted.rpartition("/")[2].lstrip("*.")
    # A short word is a part of many others, and a mark is not.
    if wanted in working and (len(wanted) > SHORT_WORD or not wanted.isalnum() or _has_word(wanted, working)):
        return True
    if text.startswith("/"):  # by a relative path
        return done.has_moved and bool(last) and any(last in command.lower() for command in done.commands)
    return bool(last) and _has_word(last, done.working)  # "*.txt" in other words


def _has_word(word: str, command: str) -> bool:
    return re.search(rf"(?<![A-Za-z]){re.escape(word)}(?![A-Za-z])", command, re.IGNORECASE) is not None


def _has_number(number: str, command: str) -> bool:
    if number == "10" and re.search(r"\b(?:head|tail)\b(?!\s+-)", command):  # they print 10 lines unless told otherwise
        return True
    # Counting from 0, "+5" for "from line 5", and 2000 for 2 KB are other ways to say a number.
    forms = [number, str(int(number) - 1), str(int(number) + 1)] if len(number) < SHORT_WORD else [number]
    return any(re.search(rf"(?<!\d){form}(?!\d)|(?<!\d){form}(?=0{{3}})", command) for form in forms)


def _is_in(path: str, places: Iterable[str]) -> bool:
    return any(f"{path}/".startswith(f"{place}/") for place in places)


def _share(name: str, wrong: Sequence[str], everything: Sequence[object], text: str) -> Found:
    """Yield a finding about the wrong ones of several things, which the text names, unless all are right."""
    if wrong:
        yield name, ShellFinding(len(wrong) / len(everything), text.format(_listed(wrong)))


def _listed(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    rest = f" and {len(names) - N_NAMED} more" if len(names) > N_NAMED else ""
    return _shown(", ".join(names[:N_NAMED])) + rest


def _shown(text: str) -> str:
    """Return a text cut to a readable length."""
    return text if len(text) <= 100 else f"{text[:97]}..."
