"""A model with scripted answers, for tests, examples and dry runs without an API key."""

import threading
from collections.abc import Callable, Iterable

from iad_policy.errors import ModelError
from iad_policy.models import Completion, Messages, text_of
from iad_policy.types import Usage
from iad_policy.types.call_context import current_call


class ScriptedModel:
    """Returns the given texts in order, or the result of a function of the messages.

    Usage is counted by a rule: one token for every four characters or part of them, in the messages and in the answer.
    A `Completion` is returned as it is, with its own usage, and an answer that is an exception is raised.

    Args:
        answers: Texts (a list, a generator ...), or `f(messages) -> text`. If several threads call the model, use a
            function: a list would be consumed in the order in which they happen to arrive.
        name: Name in logs and reports.
    """

    def __init__(
        self, answers: Iterable[str | Completion | Exception] | Callable[[Messages], str], *, name: str = "scripted"
    ) -> None:
        self.name = name
        self._function = answers if callable(answers) else None
        self._answers = iter(() if callable(answers) else answers)
        self._lock = threading.Lock()

    def complete(
        self, messages: Messages, *, temperature: float | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Return the next answer.

        Raises:
            ModelError: There are no more answers.
        """
        answer: str | Completion | Exception | None
        if self._function is not None:
            answer = self._function(messages)
        else:
            with self._lock:
                answer = next(self._answers, None)
        if answer is None:
            raise ModelError(
                f"expected another answer for the model {self.name!r}, got to the end of its script; give it more "
                "answers, or a function of the messages",
                kind="other",
            )
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            n_prompt = sum(_n_tokens(text_of(message["content"])) for message in messages)
            answer = Completion(answer, Usage(prompt_tokens=n_prompt, completion_tokens=_n_tokens(answer)))
        current_call().report(answer.usage)
        return answer


def _n_tokens(text: str) -> int:
    return -(-len(text) // 4)  # characters in a token
