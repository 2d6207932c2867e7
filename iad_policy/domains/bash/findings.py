"""Compares what an episode has done with what its instruction asks for. Each difference is a finding, told in words.

A finding has a degree between 0 (not found) and 1. Findings use the instruction, the commands, and what the shell
showed: output, exit code, and files created, changed and deleted. No gold.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from iad_policy.domains.bash.reading import ShellInstruction, read_instruction
from iad_policy.types import State

SUBMIT = "submit"
DEFAULT_LINES = "10"
"""Number of lines that `head` and `tail` print unless told otherwise."""
SHOWN_CHARS = 100
FEW = 3
"""Number of named things in a critique."""
_ERROR = re.compile(
    r"no such file|cannot |not found|invalid|usage:|try '|is a directory|not a directory"
    r"|missing (?:argument|operand)|unknown (?:predicate|option)|unrecognized|illegal|unexpected|syntax error"
    r"|paths must precede|omitting directory|are the same file",
    re.IGNORECASE,
)
_MESSAGE = re.compile(
    r"[a-z]\w*: .*(?:no such file|cannot|denied|is a directory|unexpected end|not permitted)", re.IGNORECASE
)
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?%?[KMGTB]?i?B?", re.IGNORECASE)
_DIGEST = re.compile(r"(?i)\\?[0-9a-f]{32,128}\b")
_PATH_LINE = re.compile(r"(?:\.{0,2}/)?[^\s:|]+(?: [^\s:|/]+)*")
_COMMAND_PATH = re.compile(r"(?<![\w.*}~-])/(?!\d+\b)[\w.+-]+(?:/[\w.+-]+)*")
_SYSTEM_PLACES = ("/dev", "/bin", "/usr/bin", "/tmp", "/proc", "/etc")
_ADDS_UP_TOTALS = re.compile(r"\bwc\b(?!.*(?:grep -v|head -n -1|\$2 ?!=|NR ?-|sed '\$d')).*\|\s*awk\b.*\+=")
_SEVERAL_FILES = re.compile(r"\{\}\s*\\?\+|\bxargs\b|\*")
_BINDS = re.compile(r"\s-o\s.*\s-(?:exec|execdir|delete|print0|printf|type|size|mtime|newer)\b")
_LOOK = re.compile(r"\s*(?:ls|cat|pwd|find|tree)(?:\s+-[la]+)?(?:\s+[\w./~*][\w./~*-]*)*\s*")
_EXCEPTION = re.compile(
    r"\bexcept|\bexclud|\b(?:all|everything|anything) but\b|\bother than\b|\bkeep only\b|\bother files\b"
)
_SEQUENCE = re.compile(r"\s*(?:\|\|?|&&|;)\s*")


class Finding(NamedTuple):
    """Something that speaks against a result.

    Attributes:
        degree: How clear it is, 0-1.
        text: The finding in words. "" if others say it better.
    """

    degree: float
    text: str


NOT_FOUND = Finding(0.0, "")


@dataclass(frozen=True)
class Done:
    """What an episode has done so far.

    Attributes:
        instruction: The instruction.
        commands: Commands in order.
        infos: The environment's info after each command.
    """

    instruction: ShellInstruction
    commands: tuple[str, ...]
    infos: tuple[Mapping[str, Any], ...]

    @classmethod
    def until(cls, state: State) -> "Done":
        """Return what was done until a state."""
        turns = [turn for turn in state.history if str(turn.action).strip() != SUBMIT]
        infos = [turn.info for turn in state.history[1:]] + [state.info]
        return cls(
            read_instruction(state.info["instruction"]),
            tuple(str(turn.action) for turn in turns),
            tuple(infos[: len(turns)]),
        )

    @property
    def command(self) -> str:
        """The last command."""
        return self.commands[-1]

    @property
    def facts(self) -> Mapping[str, Any]:
        """Facts of the last command."""
        facts: Mapping[str, Any] = self.infos[-1]["facts"]
        return facts

    @property
    def output(self) -> str:
        """Output of the last command."""
        return str(self.infos[-1]["page"]["output"])

    @cached_property
    def lines(self) -> Sequence[str]:
        """Lines of the last output that are not blank, without error messages."""
        lines = (line.strip() for line in self.output.splitlines())
        return [line for line in lines if line and not _MESSAGE.match(line)]

    @cached_property
    def created(self) -> frozenset[str]:
        """Files and folders that were not there at the start."""
        return self._net("created", "deleted")

    @cached_property
    def deleted(self) -> frozenset[str]:
        """Files and folders that were there at the start and are gone."""
        return self._net("deleted", "created")

    @cached_property
    def changed(self) -> frozenset[str]:
        """Files and folders that were changed and are still there."""
        changed = frozenset[str]().union(*(info["facts"]["changed"] for info in self.infos))
        return changed - self.deleted - self.created

    @property
    def touched(self) -> frozenset[str]:
        """Everything that is not as it was at the start."""
        return self.created | self.deleted | self.changed

    @property
    def has_moved(self) -> bool:
        """Whether the working directory is another than at the start."""
        return bool(self.infos[-1]["page"]["cwd"] != "/")

    @cached_property
    def working(self) -> str:
        """The commands that led to the result: all that changed something, and the last."""
        effective = [
            command
            for command, info in zip(self.commands, self.infos, strict=True)
            if info["facts"]["n_created"] or info["facts"]["n_changed"] or info["facts"]["n_deleted"]
        ]
        return "\n".join(dict.fromkeys([*effective, self.command]))

    def _net(self, there: str, gone: str) -> frozenset[str]:
        found: set[str] = set()
        opposite: set[str] = set()
        for info in self.infos:
            for path in info["facts"][gone]:
                (found.discard if path in found else opposite.add)(path)
            for path in info["facts"][there]:
                (opposite.discard if path in opposite else found.add)(path)
        return frozenset(found)


class Requirement(NamedTuple):
    """Something that words of an instruction ask of a command.

    Attributes:
        says: Finds the words in the instruction.
        has: Finds what fulfils it in the command.
        need: Names it.
    """

    says: re.Pattern[str]
    has: re.Pattern[str]
    need: str


@lru_cache(maxsize=1)
def requirements() -> Sequence[Requirement]:
    """Return the requirements in `requirements.toml`."""
    tables = tomllib.loads(Path(__file__).with_name("requirements.toml").read_text(encoding="utf-8"))
    return [
        Requirement(re.compile(table["says"]), re.compile(table["has"]), table["need"]) for table in tables.values()
    ]


def findings_of(done: Done) -> dict[str, Finding]:
    """Return the findings about what was done, by name. Those not found are left out."""
    found = {name: check(done) for name, check in CHECKS.items()}
    return {name: finding for name, finding in found.items() if finding.degree}


def _failed(done: Done) -> Finding:
    code = done.facts["exit_code"]
    if not code or _found_nothing(done).degree:
        return NOT_FOUND
    return Finding(1.0, f"exit code {code}{_quoted(done)}")


def _found_nothing(done: Done) -> Finding:
    # grep, diff and others end with 1 where they find nothing or a difference.
    if done.facts["exit_code"] == 1 and not _ERROR.search(done.output):
        return Finding(1.0, "" if done.lines else "exit code 1 and no output: nothing was found")
    return NOT_FOUND


def _invalid(done: Done) -> Finding:
    complaint = done.facts["complaint"]
    return Finding(1.0, f"the shell could not run it{_quoted(done)}") if complaint else NOT_FOUND


def _timed_out(done: Done) -> Finding:
    return Finding(1.0, "it was ended at the time limit") if done.facts["timed_out"] else NOT_FOUND


def _error_text(done: Done) -> Finding:
    if done.facts["exit_code"] or not _ERROR.search(done.output):
        return NOT_FOUND
    line = next(line for line in done.output.splitlines() if _ERROR.search(line))
    return Finding(1.0, f"its output has an error: {_cut(line)}")


def _nothing_printed(done: Done) -> Finding:
    asked = done.instruction.asked
    if asked.answer == "nothing" or done.lines or (asked.change is None and done.touched):
        return NOT_FOUND
    if asked.answer == "text" and done.has_moved:
        return NOT_FOUND
    return Finding(1.0, "the task asks for an answer, and the last command printed nothing")


def _not_a_number(done: Done) -> Finding:
    if done.instruction.asked.answer != "number" or not done.lines:
        return NOT_FOUND
    if len(done.lines) > 1:
        return Finding(1.0, f"the task asks for a number, the output is {len(done.lines)} lines")
    words = done.lines[0].split()
    if _NUMBER.fullmatch(done.lines[0]):
        return NOT_FOUND
    if _NUMBER.fullmatch(words[0]):
        return Finding(0.5, f"the task asks for a number, the output has more than that: {_cut(done.lines[0])}")
    return Finding(1.0, f"the task asks for a number, the output is: {_cut(done.lines[0])}")


def _zero(done: Done) -> Finding:
    is_zero = (
        done.instruction.asked.answer == "number" and done.lines and re.match(r"0(?:\.0*)?(?:\s|$)", done.lines[0])
    )
    return Finding(1.0, "the count is 0: check that the command looks at the right files") if is_zero else NOT_FOUND


def _not_a_digest(done: Done) -> Finding:
    if done.instruction.asked.answer != "digest" or not done.lines:
        return NOT_FOUND
    n_digests = sum(bool(_DIGEST.search(line)) for line in done.lines)
    if not n_digests:
        return Finding(1.0, f"the task asks for a checksum, the output is: {_cut(done.lines[0])}")
    asks_for_one = re.match(r"\S+ (?:the )?(?:md5 ?sum|sha\S*|checksum|hash) ", done.instruction.text)
    if asks_for_one and not re.search(r"\b(?:each|every)\b(?!.*\bof that\b)|file ?name", done.instruction.text):
        return (
            Finding(1.0, f"the task asks for one checksum, the output has {n_digests}") if n_digests > 1 else NOT_FOUND
        )
    return NOT_FOUND if n_digests == len(done.lines) else Finding(0.5, "some lines of the output have no checksum")


def _not_paths(done: Done) -> Finding:
    if done.instruction.asked.answer != "paths" or not done.lines:
        return NOT_FOUND
    others = [line for line in done.lines if not _PATH_LINE.fullmatch(line) or _NUMBER.fullmatch(line)]
    if not others:
        return NOT_FOUND
    return Finding(
        len(others) / len(done.lines), f"the task asks for files or folders, the output has: {_cut(others[0])}"
    )


def _wrong_line_count(done: Done) -> Finding:
    asked, n_lines = done.instruction.asked, len(done.lines)
    n_asked = asked.n_lines
    if n_asked is None or asked.answer in ("nothing", "number", "digest") or not n_lines or n_lines == n_asked:
        return NOT_FOUND
    # A short file has fewer lines than are asked for.
    return Finding(1.0 if n_lines > n_asked else 0.5, f"the task asks for {n_asked} lines, the output has {n_lines}")


def _wrong_ending(done: Done) -> Finding:
    endings = done.instruction.endings
    if done.instruction.asked.answer != "paths" or not endings or not done.lines:
        return NOT_FOUND
    others = [line for line in done.lines if not line.endswith(tuple(f".{ending}" for ending in endings))]
    if not others or _EXCEPTION.search(done.instruction.text):
        return NOT_FOUND
    return Finding(
        len(others) / len(done.lines), f"the task is about .{endings[0]} files, the output has {_cut(others[0])}"
    )


def _nothing_changed(done: Done) -> Finding:
    if not done.instruction.asked.change or done.touched:
        return NOT_FOUND
    verb = done.instruction.text.split()[0]
    return Finding(1.0, f"the task asks to {verb}; no file changed")


def _changed_unasked(done: Done) -> Finding:
    if done.instruction.asked.change is not False or not done.touched:
        return NOT_FOUND
    return Finding(1.0, f"the task asks for an answer only; changed: {_listed(done.touched)}")


def _printed_unasked(done: Done) -> Finding:
    asked = done.instruction.asked
    if asked.answer != "nothing" or not done.lines or done.facts["exit_code"]:
        return NOT_FOUND
    return Finding(1.0, "the task asks for a change only, and the last command prints text, which is handed in too")


def _elsewhere(done: Done) -> Finding:
    named = [path for path in (*done.instruction.paths, *done.instruction.quoted) if path.startswith("/")]
    names_other = done.instruction.words & {"root", "current", "home", "here"}
    if not done.instruction.asked.change or not named or names_other or not done.touched:
        return NOT_FOUND
    outside = [path for path in done.touched if not any(f"{path}/".startswith(f"{one.rstrip('/')}/") for one in named)]
    # A folder changes with its files, and a new folder comes with those above it.
    outside = [path for path in outside if not any(one.startswith(f"{path}/") for one in named)]
    outside = [path for path in outside if path.rpartition("/")[2].lower() not in done.instruction.text]
    if not outside:
        return NOT_FOUND
    return Finding(len(outside) / len(done.touched), f"it changes what the task does not name: {_listed(outside)}")


def _target_untouched(done: Done) -> Finding:
    instruction = done.instruction
    named = dict.fromkeys(path for path in (*instruction.paths, *instruction.quoted) if path.startswith("/"))
    names_target = instruction.words & {"to", "into", "new", "as"}
    if not instruction.asked.change or not names_target or not done.touched or len(named) < 2:
        return NOT_FOUND
    new = done.created | done.changed
    # "Copy /a to /b", but also "make /b with a copy of /a".
    places = (list(named)[-1], next(iter(named)))
    if any(f"{path}/".startswith(f"{place.rstrip('/')}/") for path in new for place in places):
        return NOT_FOUND
    return Finding(1.0, f"nothing is new in {places[0]}")


def _not_removed(done: Done) -> Finding:
    if not done.instruction.asked.removal or done.deleted or not done.touched:
        return NOT_FOUND
    return Finding(1.0, "the task asks to take something away, and nothing is gone")


def _removed_unasked(done: Done) -> Finding:
    if done.instruction.asked.removal is not False or not done.deleted or not done.instruction.asked.change:
        return NOT_FOUND
    return Finding(1.0, f"it removes what should stay: {_listed(done.deleted)}")


def _wrong_kind(done: Done) -> Finding:
    """Find changed files of another kind than named, or of the named kind if that is the exception."""
    instruction = done.instruction
    paths = [path for path in done.touched if "." in path.rpartition("/")[2]]
    if not instruction.asked.change or not instruction.endings or not paths:
        return NOT_FOUND
    is_kind = {path: path.endswith(tuple(f".{ending}" for ending in instruction.endings)) for path in paths}
    is_exception = bool(_EXCEPTION.search(instruction.text))
    # Other names stand beside the kind, or the result is of another kind.
    names_more = [text for text in instruction.quoted if not text.startswith(("*", "/"))]
    if names_more or re.search(r"archive|compress|zip|tar\b|\w\.\w+\b(?=.*\*\.)", instruction.plain):
        return NOT_FOUND
    wrong = [path for path in paths if is_kind[path] == is_exception]
    if not wrong:
        return NOT_FOUND
    return Finding(
        len(wrong) / len(paths), f"the task is about .{instruction.endings[0]} files; changed: {_listed(wrong)}"
    )


def _unused(done: Done) -> Finding:
    """Find names and numbers of the instruction that no command uses."""
    instruction = done.instruction
    names = [*instruction.paths, *(text for text in instruction.quoted if text not in instruction.paths)]
    checks = [(text, _is_used(text, done)) for text in names]
    checks += [(f".{ending}", _has_word(ending, done.working)) for ending in instruction.endings]
    checks += [(number, _has_number(number, done.working)) for number in instruction.numbers if number != "0"]
    missing = [text for text, is_there in checks if not is_there]
    if not missing:
        return NOT_FOUND
    return Finding(len(missing) / len(checks), f"the task names {_listed(missing)}, the command does not")


def _unnamed(done: Done) -> Finding:
    """Find paths in the last command that neither the instruction nor an earlier output names."""
    known = [done.instruction.text, *(info["page"]["output"].lower() for info in done.infos[:-1])]
    if not done.instruction.paths and not any(text.startswith("/") for text in done.instruction.quoted):
        return NOT_FOUND
    paths = dict.fromkeys(_COMMAND_PATH.findall(_without_quotations(done.command)))
    own = [path for path in paths if not path.startswith(_SYSTEM_PLACES)]
    strange = [path for path in own if not any(path.rpartition("/")[2].lower() in text for text in known)]
    if not strange:
        return NOT_FOUND
    return Finding(len(strange) / len(own), f"the task does not name {_listed(strange)}")


def _lacks(done: Done) -> Finding:
    """Find things that the instruction's words call for and the commands lack."""
    called_for = [one for one in requirements() if one.says.search(done.instruction.plain)]
    missing = [one.need for one in called_for if not one.has.search(done.working)]
    if not missing:
        return NOT_FOUND
    return Finding(min(len(missing) / 2.0, 1.0), f"the task asks for {'; '.join(missing[:FEW])}: the command has none")


def _adds_up_totals(done: Done) -> Finding:
    if not (_ADDS_UP_TOTALS.search(done.command) and _SEVERAL_FILES.search(done.command)):
        return NOT_FOUND
    has_seen_total = any(re.search(r"^\s*\d+ total$", info["page"]["output"], re.MULTILINE) for info in done.infos)
    text = "wc prints a total after several files, which this adds up as well"
    return Finding(1.0 if has_seen_total else 0.5, text)


def _loose_or(done: Done) -> Finding:
    if not re.search(r"\bfind\b.*-name.*\s-o\s", done.working) or "\\(" in done.working or "'('" in done.working:
        return NOT_FOUND
    if not _BINDS.search(done.working):
        return NOT_FOUND
    return Finding(1.0, "without parentheses, what follows -o belongs to the last alternative only")


def _only_looks(done: Done) -> Finding:
    steps = [step for step in _SEQUENCE.split(done.command) if step.strip() and not step.startswith("cd ")]
    if not steps or not all(map(_LOOK.fullmatch, steps)):
        return NOT_FOUND
    return Finding(1.0, "it shows what is there, without a choice or a change")


def repeats(done: Done) -> bool:
    """Return whether the last command is an earlier one with the same effect."""
    earlier = zip(done.commands[:-1], done.infos[:-1], strict=True)
    has_effect = done.facts["n_created"] or done.facts["n_changed"] or done.facts["n_deleted"]
    return not has_effect and any(
        command.strip() == done.command.strip() and info["page"]["output"] == done.output for command, info in earlier
    )


def _is_used(text: str, done: Done) -> bool:
    wanted, commands = text.strip(" /").lower(), "\n".join(done.commands).lower()
    last = wanted.rpartition("/")[2].lstrip("*.")
    if wanted in done.working.lower() and (len(wanted) > FEW or _has_word(wanted, done.working)):
        return True
    if text.startswith("/"):  # a relative path
        return done.has_moved and bool(last) and last in commands
    return bool(last) and _has_word(last, done.working)  # "*.txt" in other words


def _has_word(word: str, command: str) -> bool:
    return re.search(rf"(?<![A-Za-z]){re.escape(word)}(?![A-Za-z])", command, re.IGNORECASE) is not None


def _has_number(number: str, command: str) -> bool:
    if number == DEFAULT_LINES and re.search(r"\b(?:head|tail)\b(?!\s+-)", command):
        return True
    # Counting from 0, "+5" for "from line 5", and 2000 for 2 KB are other ways to say a number.
    forms = [number, str(int(number) - 1), str(int(number) + 1)] if len(number) < FEW else [number]
    return any(re.search(rf"(?<!\d){form}(?!\d)|(?<!\d){form}(?=0{{3}})", command) for form in forms)


def _without_quotations(command: str) -> str:
    return re.sub(r"'s[/,|#].*?'", " ", command)


def _quoted(done: Done) -> str:
    """Return the last line of the output, in which most programs say why they failed."""
    lines = done.output.strip().splitlines()
    return f": {_cut(lines[-1].strip())}" if lines else ""


def _listed(paths: Sequence[str] | frozenset[str]) -> str:
    names = sorted(paths) if isinstance(paths, frozenset) else list(paths)
    rest = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return _cut(", ".join(names[:FEW])) + rest


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 3]}..."


CHECKS: Mapping[str, Callable[[Done], Finding]] = {
    "failed": _failed,
    "found_nothing": _found_nothing,
    "invalid": _invalid,
    "timed_out": _timed_out,
    "error_text": _error_text,
    "nothing_printed": _nothing_printed,
    "not_a_number": _not_a_number,
    "zero": _zero,
    "not_a_digest": _not_a_digest,
    "not_paths": _not_paths,
    "wrong_line_count": _wrong_line_count,
    "wrong_ending": _wrong_ending,
    "nothing_changed": _nothing_changed,
    "changed_unasked": _changed_unasked,
    "printed_unasked": _printed_unasked,
    "elsewhere": _elsewhere,
    "target_untouched": _target_untouched,
    "not_removed": _not_removed,
    "removed_unasked": _removed_unasked,
    "wrong_kind": _wrong_kind,
    "unused": _unused,
    "unnamed": _unnamed,
    "lacks": _lacks,
    "adds_up_totals": _adds_up_totals,
    "loose_or": _loose_or,
    "only_looks": _only_looks,
}
"""Name -> check."""
