"""Findings about how the last command ended and what it printed, compared with the kind of answer that is asked for."""

import re

from iad_envs.bash.policy.effects import Done
from iad_envs.bash.policy.errors import error_line
from iad_envs.bash.policy.finding import Checks, ShellFinding, share, shown
from iad_envs.bash.policy.reading import EXCEPTION

FOUND_NOTHING = 1
"""Exit code of grep, diff and others that found nothing, or a difference."""
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?%?[KMGTB]?i?B?", re.IGNORECASE)
_ZERO = re.compile(r"0(?:\.0*)?(?:\s|$)")
_DIGEST = re.compile(r"(?i)\\?[0-9a-f]{32,128}\b")
_PATH = re.compile(r"(?:\.{0,2}/)?[^\s:|]+(?: [^\s:|/]+)*")
_ONE_DIGEST = re.compile(r"\S+ (?:the )?(?:md5 ?sum|sha\S*|checksum|hash) (?!.*\bfile ?name)")
_OF_EACH = re.compile(r"\b(?:each|every)\b(?!.*\bof that\b)")


def _failed(done: Done) -> ShellFinding | None:
    code = done.facts["exit_code"]
    if not code or done.facts["complaint"] or (code == FOUND_NOTHING and not error_line(done.output)):
        return None
    return ShellFinding(1.0, f"exit code {code}{_reason(done)}")


def _found_nothing(done: Done) -> ShellFinding | None:
    if done.facts["exit_code"] != FOUND_NOTHING or done.output.strip():
        return None
    return ShellFinding(1.0, "exit code 1 and no output: nothing was found")


def _invalid(done: Done) -> ShellFinding | None:
    return ShellFinding(1.0, f"the shell could not run it{_reason(done)}") if done.facts["complaint"] else None


def _timed_out(done: Done) -> ShellFinding | None:
    return ShellFinding(1.0, "it was ended at the time limit") if done.facts["timed_out"] else None


def _error_text(done: Done) -> ShellFinding | None:
    line = "" if done.facts["exit_code"] else error_line(done.output)
    return ShellFinding(1.0, f"its output has an error: {shown(line)}") if line else None


def _nothing_printed(done: Done) -> ShellFinding | None:
    asked = done.instruction.asked
    has_other_effect = (asked.change is None and done.touched) or (asked.answer == "text" and done.has_moved)
    if asked.answer == "nothing" or done.lines or has_other_effect:
        return None
    return ShellFinding(1.0, "the task asks for an answer, and the last command printed nothing")


def _printed_unasked(done: Done) -> ShellFinding | None:
    if done.instruction.asked.answer != "nothing" or not done.lines or done.facts["exit_code"]:
        return None
    text = "the task asks for a change only, and the last command prints text, which is handed in too"
    return ShellFinding(1.0, text)


def _not_a_number(done: Done) -> ShellFinding | None:
    if done.instruction.asked.answer != "number" or not done.lines:
        return None
    line = done.lines[0]
    if len(done.lines) > 1:
        return ShellFinding(1.0, f"the task asks for a number, the output is {len(done.lines)} lines")
    if _NUMBER.fullmatch(line):
        return None
    if _NUMBER.fullmatch(line.split()[0]):
        return ShellFinding(0.5, f"the task asks for a number, the output has more than that: {shown(line)}")
    return ShellFinding(1.0, f"the task asks for a number, the output is: {shown(line)}")


def _zero(done: Done) -> ShellFinding | None:
    if done.instruction.asked.answer != "number" or not done.lines or not _ZERO.match(done.lines[0]):
        return None
    return ShellFinding(1.0, "the number is 0: check that the command looks at the right files")


def _not_a_digest(done: Done) -> ShellFinding | None:
    if done.instruction.asked.answer != "digest" or not done.lines:
        return None
    others = [line for line in done.lines if not _DIGEST.search(line)]
    n_digests = len(done.lines) - len(others)
    text = done.instruction.text
    if n_digests > 1 and _ONE_DIGEST.match(text) and not _OF_EACH.search(text):
        return ShellFinding(1.0, f"the task asks for one checksum, the output has {n_digests}")
    return share(others, done.lines, "the task asks for a checksum, the output has: {}")


def _not_paths(done: Done) -> ShellFinding | None:
    if done.instruction.asked.answer != "paths":
        return None
    others = [line for line in done.lines if not _PATH.fullmatch(line) or _NUMBER.fullmatch(line)]
    return share(others, done.lines, "the task asks for files or folders, the output has: {}")


def _wrong_ending(done: Done) -> ShellFinding | None:
    endings = tuple(f".{ending}" for ending in done.instruction.endings)
    if done.instruction.asked.answer != "paths" or not endings or EXCEPTION.search(done.instruction.text):
        return None
    others = [line for line in done.lines if not line.endswith(endings)]
    return share(others, done.lines, f"the task is about {endings[0]} files, the output has: {{}}")


def _wrong_line_count(done: Done) -> ShellFinding | None:
    asked, n_lines = done.instruction.asked, len(done.lines)
    if asked.answer not in ("text", "paths") or asked.n_lines in (None, n_lines) or not n_lines:
        return None
    # A short file has fewer lines than are asked for.
    degree = 1.0 if asked.n_lines is not None and n_lines > asked.n_lines else 0.5
    return ShellFinding(degree, f"the task asks for {asked.n_lines} lines, the output has {n_lines}")


def _reason(done: Done) -> str:
    """Return the first line of the output that has the words of an error, or the last line, after a colon."""
    lines = done.output.strip().splitlines()
    return f": {shown((error_line(done.output) or lines[-1]).strip())}" if lines else ""


CHECKS: Checks = {
    "failed": _failed,
    "found_nothing": _found_nothing,
    "invalid": _invalid,
    "timed_out": _timed_out,
    "error_text": _error_text,
    "nothing_printed": _nothing_printed,
    "printed_unasked": _printed_unasked,
    "not_a_number": _not_a_number,
    "zero": _zero,
    "not_a_digest": _not_a_digest,
    "not_paths": _not_paths,
    "wrong_ending": _wrong_ending,
    "wrong_line_count": _wrong_line_count,
}
