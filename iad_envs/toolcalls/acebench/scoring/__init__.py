"""Gold: the scores of normal, special and agent tasks, official and sound."""

from typing import NamedTuple


class AnswerVerdict(NamedTuple):
    """The verdict on an answer to a normal or special task.

    Attributes:
        valid: Whether the answer is right.
        error: "" or what is wrong: `unreadable`, `wrong_count`, `wrong_function`, `missing_argument`,
            `unknown_argument`, `wrong_type`, `wrong_value`, `missing_phrase`, `wrong_names`, `extra_call`, or `crash`:
            the official code would fail on this answer.
        message: Explanation. It may quote gold.
    """

    valid: bool
    error: str = ""
    message: str = ""


RIGHT = AnswerVerdict(True)
