"""The official files: scenarios of several turns, and single questions, with gold, and the classes beside them.

Every file is JSON, one entry a line. Gold of several turns is Python, as it was
written: some arguments have no name.
"""

import ast
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from iad_envs.errors import DataNotFound, require_known
from iad_envs.toolcalls.bfcl.classes import FILES, INSTALL, OfficialClasses
from iad_envs.toolcalls.calls import FunctionCall, bound, dotted_name, parsed_expression, shortened
from iad_envs.toolcalls.executor import Toolbox
from iad_envs.toolcalls.worlds import WORLD_NAMES, class_of, world

MULTI_TURN = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
QuestionKind = Literal["simple", "multiple", "parallel", "parallel_multiple", "irrelevance", "relevance"]
SINGLE_TURN: Mapping[str, QuestionKind] = {
    "simple_python": "simple",
    "multiple": "multiple",
    "parallel": "parallel",
    "parallel_multiple": "parallel_multiple",
    "irrelevance": "irrelevance",
    "live_simple": "simple",
    "live_multiple": "multiple",
    "live_parallel": "parallel",
    "live_parallel_multiple": "parallel_multiple",
    "live_irrelevance": "irrelevance",
    "live_relevance": "relevance",
}
"""Category -> how it is scored. Java and JavaScript are not here: their answers are read by parsers of their own."""
DEFECTIVE: Mapping[str, str] = json.loads(Path(__file__).with_name("defective.json").read_text(encoding="utf-8"))
"""Id of an official task whose gold nobody can produce -> the reason."""


class Conversation(NamedTuple):
    """A scenario of several turns.

    Attributes:
        task_id: Such as `multi_turn_base_0`.
        questions: The user's messages by turn. A turn without any adds functions.
        config: What the scenario sets up, by class.
        classes: Names of the simulated classes.
        missed: Turn -> functions that are held back until then.
        gold: Gold calls by turn, as they are written.
        long_context: The state has much that does not matter.
        split, difficulty: Of the bundled tasks. Official entries have none.
    """

    task_id: str
    questions: tuple[tuple[Mapping[str, str], ...], ...]
    config: Mapping[str, Any]
    classes: tuple[str, ...]
    missed: Mapping[int, tuple[str, ...]]
    gold: tuple[tuple[str, ...], ...]
    long_context: bool
    split: str = ""
    difficulty: str = ""

    @property
    def instruction(self) -> str:
        """What the user says first."""
        return spoken(self.questions[0]) if self.questions else ""

    def withheld(self, turn: int) -> frozenset[str]:
        """Return the functions that are held back in a turn."""
        return frozenset(name for until, names in self.missed.items() if turn < until for name in names)


class SingleQuestion(NamedTuple):
    """A question that is answered by calls at once, or by none.

    Attributes:
        task_id: Such as `live_simple_0-0-0`.
        kind: How it is scored.
        question: Messages.
        functions: Documents of the offered functions.
        gold: For each call its name, and for each of its parameters the right values, "" if it may be left out.
        split, difficulty: Of the bundled tasks. Official entries have none.
    """

    task_id: str
    kind: QuestionKind
    question: tuple[Mapping[str, str], ...]
    functions: tuple[Mapping[str, Any], ...]
    gold: tuple[Mapping[str, Mapping[str, Sequence[Any]]], ...]
    split: str = ""
    difficulty: str = ""

    @property
    def instruction(self) -> str:
        """What the user says."""
        return spoken(self.question)


class OfficialFiles:
    """Entries of the folder `bfcl_eval`, read when they are first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "data"

    def conversations(self, category: str) -> dict[str, Conversation]:
        """Return the scenarios of a category of `MULTI_TURN`, by id."""
        require_known("category", category, MULTI_TURN)
        golds = self._golds(category)
        return {
            entry["id"]: Conversation(
                entry["id"],
                tuple(map(tuple, entry["question"])),
                entry["initial_config"],
                tuple(entry["involved_classes"]),
                {int(turn): tuple(names) for turn, names in entry.get("missed_function", {}).items()},
                tuple(map(tuple, golds[entry["id"]])),
                category == "multi_turn_long_context",
                entry.get("split", ""),
                entry.get("difficulty", ""),
            )
            for entry in self._rows(f"BFCL_v4_{category}.json")
        }

    def questions(self, category: str) -> dict[str, SingleQuestion]:
        """Return the questions of a category of `SINGLE_TURN`, by id."""
        require_known("category", category, SINGLE_TURN)
        kind = SINGLE_TURN[category]
        golds = {} if kind in ("irrelevance", "relevance") else self._golds(category)
        return {
            entry["id"]: SingleQuestion(
                entry["id"],
                kind,
                tuple(entry["question"][0]),
                tuple(entry["function"]),
                tuple(golds.get(entry["id"], ())),
                entry.get("split", ""),
                entry.get("difficulty", ""),
            )
            for entry in self._rows(f"BFCL_v4_{category}.json")
        }

    def has(self, category: str) -> bool:
        """Whether the folder has the entries of a category."""
        return (self._folder / f"BFCL_v4_{category}.json").is_file()

    def documents(self, classes: Sequence[str]) -> list[dict[str, Any]]:
        """Return the documents of all functions of some simulated classes, in the order of the files.

        A class that is no official one has a file with its name in lower case.
        """
        return [
            document
            for name in classes
            for document in self._rows(f"multi_turn_func_doc/{FILES.get(name, name.lower())}.json")
        ]

    def _golds(self, category: str) -> dict[str, list[Any]]:
        rows = self._rows(f"possible_answer/BFCL_v4_{category}.json")
        return {entry["id"]: entry["ground_truth"] for entry in rows}

    def _rows(self, name: str) -> Iterator[dict[str, Any]]:
        path = self._folder / name
        if not path.is_file():
            raise DataNotFound(f"expected the file {path}, found none; run {INSTALL} and give its folder bfcl_eval")
        with path.open(encoding="utf-8") as lines:
            yield from (json.loads(line) for line in lines if line.strip())


def gold_calls(texts: Sequence[str], toolbox: Toolbox) -> tuple[FunctionCall, ...]:
    """Return gold calls as data. Arguments without a name get that of the function's parameter.

    Raises:
        UnreadableCalls: One is not a call with literals.
    """
    calls = []
    for text in texts:
        node = parsed_expression(text)
        if not isinstance(node, ast.Call):
            raise ValueError(f"expected a gold call such as f(a=1), got {shortened(text)}; check the data")
        name = dotted_name(node.func)
        calls.append(FunctionCall(name, bound(node, parameters=toolbox.parameters(name) if node.args else ())))
    return tuple(calls)


def spoken(messages: Sequence[Mapping[str, str]]) -> str:
    """Return what the user says in messages."""
    return "\n".join(one["content"] for one in messages if one["role"] == "user")


class BFCLData(NamedTuple):
    """A folder's files and simulated classes.

    Attributes:
        files: Its entries.
        toolbox: Returns the functions of some classes.
        lasting: Functions whose effect can't be taken back.
        is_official: Whether the classes, and so the tasks, are the official ones.
    """

    files: OfficialFiles
    toolbox: Callable[[tuple[str, ...]], Toolbox]
    lasting: frozenset[str]
    is_official: bool


@lru_cache(maxsize=4)
def load_data(folder: Path) -> BFCLData:
    """Return a folder's data: with the official simulated classes if it has any, else with the bundled worlds."""
    files = OfficialFiles(folder)
    if (folder / "eval_checker").is_dir():
        last = frozenset(
            {
                *("send_message", "delete_message", "post_tweet", "retweet", "comment"),
                *("create_ticket", "close_ticket", "resolve_ticket"),
                *("place_order", "cancel_order", "fund_account", "withdraw_funds"),
                *("book_flight", "cancel_booking", "purchase_insurance", "rm", "rmdir"),
            }
        )  # they send, post, pay, order or delete
        return BFCLData(files, OfficialClasses(folder).toolbox, last, is_official=True)
    lasting = frozenset[str]().union(*(world(name).lasting for name in WORLD_NAMES))
    return BFCLData(files, lambda names: Toolbox({name: class_of(name) for name in names}), lasting, is_official=False)


@lru_cache(maxsize=16)
def load_tasks(folder: Path, categories: tuple[str, ...]) -> dict[str, Conversation | SingleQuestion]:
    """Return the tasks of some official categories by id; of several, those that the folder has.

    Raises:
        DataNotFound: It has none of them.
    """
    files = OfficialFiles(folder)
    found: dict[str, Conversation | SingleQuestion] = {}
    for name in categories:
        if len(categories) == 1 or files.has(name):
            found.update(files.conversations(name) if name in MULTI_TURN else files.questions(name))
    if not found:
        raise DataNotFound(
            f"expected BFCL files of {', '.join(categories)} in {folder / 'data'}, found none; for the official"
            f" ones run {INSTALL} and give the folder bfcl_eval as data_dir"
        )
    return found
