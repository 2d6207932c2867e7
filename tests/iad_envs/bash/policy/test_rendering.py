"""The shell in words: nothing that a small model would copy as a command, and everything that it needs."""

from typing import Any

from iad_envs.bash.facts import NOTHING
from iad_envs.bash.policy.rendering import ShellRendering
from iad_policy.types import State, Turn

WORDS = ShellRendering()


def info(step: int, cwd: str = "/", **facts: Any) -> dict[str, Any]:
    page = {"output": "", "cwd": cwd, "submitted": False}
    return {
        "instruction": "Count the files.",
        "available_actions": ("pwd", "submit"),
        "invalid_action": False,
        "step": step,
        "facts": {**NOTHING, "missing_tools": ("ed", "tree"), **facts},
        "page": page,
    }


START = Turn("Count the files.", "cd /shelf", info(0))


def test_the_last_action_left_is_named_as_such() -> None:
    last = State("3", info(1), steps_left=1)
    assert WORDS.steps_left(last) == "Actions left: 1. Without submit as the last one, nothing counts."


def test_files_that_were_touched_are_told_with_their_number() -> None:
    paths = tuple(f"/shelf/{number}" for number in range(20))
    state = State(
        "[exit code 0]", info(1, created=paths, n_created=500, deleted=("/a",), n_deleted=1), history=(START,)
    )
    assert WORDS.facts(state) == (f"Files created: {', '.join(paths[:8])} and 492 more\nFiles deleted: /a")


def test_a_long_output_keeps_its_exit_code() -> None:
    output = "\n".join([*(f"/shelf/{number}" for number in range(5000)), "[exit code 1]"])
    second = Turn(output, "ls", info(1, "/shelf"))
    now = State(output, info(1, "/shelf"), history=(START,))
    assert WORDS.page(now).endswith("[exit code 1]\nWorking directory: /shelf")
    later = State("[exit code 0]", info(2, "/shelf"), history=(START, second))
    (first, _) = WORDS.turns(later)
    assert "[exit code 1]\n   Working directory: /shelf" in first
    assert len(first) < 1_200
