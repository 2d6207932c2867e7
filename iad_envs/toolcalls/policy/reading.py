"""What the agent, the proxy verifier and the features read of a conversation: the request, and the calls. No gold."""

import ast
import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from iad_envs.toolcalls.policy.documents import Catalogue, catalogue, shape_of
from iad_envs.toolcalls.policy.mentions import Clause, Mention, clauses_of
from iad_envs.toolcalls.policy.words import stem, words
from iad_policy.types import State
from iad_policy.types.python_text import parsed_python

ERROR_STARTS = ("Error", '{"error"', "{'error'")
SOLID = frozenset(("quote", "mail", "date", "time", "user", "id", "number", "name"))
"""Kinds of mentions that are surely values."""


class MadeCall(NamedTuple):
    """A call that was made, and its result.

    Attributes:
        name: The function.
        arguments: Its arguments.
        result: The result's text.
        turn: The user's turn in which it was made.
    """

    name: str
    arguments: Mapping[str, Any]
    result: str
    turn: int

    @property
    def has_failed(self) -> bool:
        """Whether the result is an error."""
        return self.result.startswith(ERROR_STARTS)

    @property
    def data(self) -> Any:
        """The result as data, which is shared: it is never changed. Its text if it is none."""
        return result_data(self.result)


def conversation(state: State) -> "Dialogue":
    """Return what is read of a state; of the last few states it is kept, as several candidates are drawn in each."""
    global _recent
    for known, found in _recent:
        if known is state:
            return found
    made = Dialogue(state)
    _recent = ((state, made), *_recent[: KEPT - 1])
    return made


KEPT = 4
_recent: "tuple[tuple[State, Dialogue], ...]" = ()


class Dialogue:
    """A moment of a conversation, as far as everybody may see it.

    Args:
        state: The state.
    """

    def __init__(self, state: State) -> None:
        page = page_of(state)
        self.kind = str(page.get("kind", ""))
        self.turn = turn_of(state.info)
        self.known: Catalogue = catalogue(page.get("tools", ()))
        self.closing = _closing(state.info.get("available_actions") or ())
        self.made = tuple(_made(state))
        self.replies = tuple(_replies(state))
        self._texts = dict(_texts(state))
        self._offers = dict(_offers(state))
        self.memo: dict[Hashable, Any] = {}

    @property
    def is_single(self) -> bool:
        """Whether it is a single question, whose answer has all calls at once."""
        return self.kind in ("single", "draft")

    @cached_property
    def is_pending(self) -> bool:
        """Whether no call of the turn before has worked, so that its request is still open."""
        return self.turn - 1 in self._texts and not self._has_worked(self.turn - 1)

    @cached_property
    def request(self) -> str:
        """What the user wants now: the message of this turn, after those of turns in which no call has worked."""
        first = self.turn
        while first - 1 in self._texts and not self._has_worked(first - 1):
            first -= 1
        return " ".join(self._texts.get(turn, "") for turn in range(first, self.turn + 1)).strip()

    def _has_worked(self, turn: int) -> bool:
        return any(one.turn == turn and not one.has_failed for one in self.made)

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """The clauses of the request."""
        return clauses_of(self.request, self.known)

    @cached_property
    def mentions(self) -> tuple[Mention, ...]:
        """The values in the request."""
        return tuple(one for clause in self.clauses for one in clause.mentions)

    @cached_property
    def id_shapes(self) -> Mapping[str, str]:
        """Beginning of an id -> name of the parameter that takes such ids, by the documents and by earlier calls."""
        found = dict(self.known.id_shapes)
        for one in self.made:
            for key, value in (*one.arguments.items(), *_pairs(one.data)):
                shape = shape_of(value) if isinstance(value, str) and key.endswith("id") and not one.has_failed else ""
                if shape:
                    found.setdefault(shape, key)
        return found

    def is_listed(self, mention: Mention) -> bool:
        """Whether a number is one of three or more in a row, which belong together."""
        numbers = [one for one in self.clauses[mention.clause].mentions if one.kind == "number"]
        rows = [list(row) for row in _rows(numbers)]
        return any(mention in row and len(row) >= LISTED for row in rows)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of all words of the request."""
        return frozenset(map(stem, words(self.request)))

    @cached_property
    def newly_offered(self) -> frozenset[str]:
        """The functions that were not offered in the turn before."""
        before = self._offers.get(self.turn - 1)
        return frozenset(self.known.tools) - before if before else frozenset()

    @property
    def now(self) -> tuple[MadeCall, ...]:
        """The calls of this turn."""
        return tuple(one for one in self.made if one.turn == self.turn)

    @property
    def worked(self) -> tuple[MadeCall, ...]:
        """The calls of this turn that have not failed."""
        return tuple(one for one in self.now if not one.has_failed)

    def once(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Return what a function computes; it is called once for a key."""
        if key not in self.memo:
            self.memo[key] = compute()
        return self.memo[key]

    def is_in_vain(self, reply: str) -> bool:
        """Whether a reply can be no use where the agent may end the task: nobody answers, or it was said before."""
        if not self.closing:
            return False
        is_unanswered = any(turn == self.turn for turn, _ in self.replies)
        is_said = self.is_pending and not self.now and any(said == reply for _, said in self.replies)
        return is_unanswered or is_said

    def has_failed(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Whether this very call has failed in this turn, and no call has changed anything since."""
        for one in reversed(self.now):
            if one.has_failed:
                if one.name == name and one.arguments == arguments:
                    return True
            elif one.name in self.known.tools and not self.known.tools[one.name].only_looks:
                return False
        return False


LISTED = 3
"""Numbers in a row that belong together."""


def _rows(numbers: Sequence[Mention]) -> Iterator[list[Mention]]:
    """Yield numbers that only a comma or "and" parts."""
    row: list[Mention] = []
    for one in numbers:
        if row and one.start - row[-1].end > _BETWEEN:
            yield row
            row = []
        row.append(one)
    yield row


_BETWEEN = 6


def _pairs(data: Any) -> Iterator[tuple[str, Any]]:
    """Yield keys and values at any depth."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield str(key), value
            yield from _pairs(value)
    elif isinstance(data, list):
        for item in data:
            yield from _pairs(item)


def page_of(state: State) -> Mapping[str, Any]:
    """Return a state's page."""
    page: Mapping[str, Any] = state.info.get("page") or {}
    return page


def _closing(available: Sequence[Any]) -> str:
    """Return the reply that ends the task, where the environment offers one; "" where the user ends it."""
    return next((str(one) for one in available if str(one).startswith("reply[") and not str(one).endswith("...]")), "")


def turn_of(info: Mapping[str, Any]) -> int:
    """Return the number of the user's turn, from 0."""
    return int((info.get("facts") or {}).get("turn", 0))


def is_error(result: str) -> bool:
    """Whether a result's text says that the call failed."""
    return result.startswith(ERROR_STARTS)


@lru_cache(maxsize=512)
def result_data(result: str) -> Any:
    """Return a result as data; its text if it is none."""
    for read in (json.loads, lambda text: ast.literal_eval(parsed_python(text.lstrip(" \t")))):
        try:
            return read(result)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return result


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as it is written."""
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def calls_text(calls: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Return a response of calls."""
    return f"[{', '.join(call_text(name, arguments) for name, arguments in calls)}]"


def written_calls(action: str) -> tuple[tuple[str, dict[str, Any]], ...] | None:
    """Return the calls of a response in the form `[f(a=1), g()]`; None of any other."""
    body = action.strip().removeprefix("draft").strip()
    try:
        tree = parsed_python(body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes = tree.elts if isinstance(tree, ast.List) else [tree]
    found = []
    for node in nodes:
        if not isinstance(node, ast.Call) or node.args:
            return None
        try:
            arguments = {str(one.arg): ast.literal_eval(one.value) for one in node.keywords}
        except (ValueError, TypeError, RecursionError):
            return None
        found.append((ast.unparse(node.func), arguments))
    return tuple(found)


def _infos(state: State) -> Iterator[Mapping[str, Any]]:
    for turn in state.history:
        yield turn.info
    yield state.info


def _made(state: State) -> Iterator[MadeCall]:
    seen = set()
    for info in _infos(state):
        page, facts = info.get("page") or {}, info.get("facts") or {}
        place = (turn_of(info), facts.get("step_in_turn", 0))
        if page.get("kind") not in ("results", "done") or not page.get("results") or place in seen:
            continue
        seen.add(place)  # after an invalid action the page is the same
        for call, result in zip(page.get("calls") or (), page["results"], strict=False):
            yield MadeCall(call["name"], dict(call["arguments"]), str(result), turn_of(info))


def _replies(state: State) -> Iterator[tuple[int, str]]:
    """Yield what the agent has said, each with the turn in which it said so."""
    for turn in state.history:
        if isinstance(turn.action, str) and turn.action.startswith("reply["):
            yield turn_of(turn.info), turn.action


def _texts(state: State) -> Iterator[tuple[int, str]]:
    for info in _infos(state):
        messages = (info.get("page") or {}).get("messages") or ()
        if messages:
            yield turn_of(info), "\n".join(one["content"] for one in messages if one.get("role", "user") == "user")


def _offers(state: State) -> Iterator[tuple[int, frozenset[str]]]:
    for info in _infos(state):
        tools = (info.get("page") or {}).get("tools")
        if tools:
            yield turn_of(info), frozenset(one["name"] for one in tools)
