"""Checks the turns of a conversation against gold, by the official rule and by a sound (stricter) one.

The official rule, after each turn whose gold has calls, in this order; the first failure is the verdict:

1. `multi_turn:empty_turn_model_response`: there was no call in this turn;
2. `multi_turn:instance_state_mismatch`: a public attribute of a simulated object differs from gold's;
3. `multi_turn:execution_response_mismatch`: a result of gold's calls of this turn is missing among all results so far.

An answer with another number of turns than gold is `multi_turn:force_terminated`. Turns without gold calls are free.

`sound` adds:

- `multi_turn:irrelevance_error:decoder_success`: a call in a turn whose gold has none. (The original has this rule and
  never uses it.)
- `multi_turn:withheld_function`: a call of a function that is held back in this turn. It does not run either.
- `multi_turn:force_terminated` for more responses in a turn than the limit also in the last turn, where the original
  does not notice it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from iad_envs.toolcalls.bfcl.data import Conversation, Scoring, gold_calls
from iad_envs.toolcalls.bfcl.decoding import decoded, runnable
from iad_envs.toolcalls.bfcl.turns import PlayedTurn, extended, is_over_cap
from iad_envs.toolcalls.calls import FunctionCall, UnreadableCalls
from iad_envs.toolcalls.executor import Toolbox, ToolState

EMPTY = "multi_turn:empty_turn_model_response"
STATE = "multi_turn:instance_state_mismatch"
RESPONSE = "multi_turn:execution_response_mismatch"
TERMINATED = "multi_turn:force_terminated"
IRRELEVANCE = "multi_turn:irrelevance_error:decoder_success"
WITHHELD = "multi_turn:withheld_function"


class GoldTurn(NamedTuple):
    """What gold does in a turn."""

    state: ToolState
    calls: tuple[FunctionCall, ...]
    results: tuple[str, ...]


class TurnsVerdict(NamedTuple):
    """The verdict on a conversation.

    Attributes:
        valid: Whether all turns are right.
        error_type: The first failure in the official words, or "".
        turn: Of the failure; None where it is not that of a turn.
    """

    valid: bool
    error_type: str = ""
    turn: int | None = None


class TurnsJudge:
    """Knows what gold does in a conversation, and compares turns with it. The only part that knows gold.

    Args:
        conversation: The scenario with gold.
        toolbox: Functions of its classes.
        scoring: `official` or `sound`.
    """

    def __init__(self, conversation: Conversation, toolbox: Toolbox, *, scoring: Scoring = "official") -> None:
        self.conversation = conversation
        self.toolbox = toolbox
        self.scoring = scoring

    @cached_property
    def start(self) -> ToolState:
        """The state before the first turn. Turns that begin with this object are compared faster than others."""
        return self.toolbox.start(self.conversation.config, long_context=self.conversation.long_context)

    @cached_property
    def gold(self) -> tuple[GoldTurn, ...]:
        """What gold does, turn by turn."""
        turns = []
        state = self.start
        for texts in self.conversation.gold:
            calls = gold_calls(texts, self.toolbox)
            state, results = self.toolbox.run(state, calls)
            turns.append(GoldTurn(state, calls, results))
        return tuple(turns)

    def withheld(self, turn: int) -> frozenset[str]:
        """Return the functions that do not work in a turn: by the official rule none."""
        return self.conversation.withheld(turn) if self.scoring == "sound" else frozenset()

    def check(self, turns: Sequence[PlayedTurn]) -> TurnsVerdict:
        """Return the verdict on a conversation that is over."""
        return self.verdict(self.tallied(turns))

    def progress(self, turns: Sequence[PlayedTurn], *, n_over: int | None = None) -> float:
        """Return the share of the conversation that is right, 0-1. See `progress_after`.

        Args:
            turns: The turns so far.
            n_over: How many of them are over. Default: all.
        """
        tally = self.tallied(turns[:n_over])
        return self.progress_after(tally, turns[tally.n_turns :])

    def parts(self, turns: Sequence[PlayedTurn]) -> dict[str, float]:
        """Return the parts of the verdict on turns that are over. See `parts_of`."""
        return self.parts_of(self.tallied(turns))

    def tallied(self, turns: Iterable[PlayedTurn], before: "TurnsTally | None" = None) -> "TurnsTally":
        """Return the tally of turns that are over, which goes on from that of the turns before them."""
        tally = TurnsTally() if before is None else before
        for turn in turns:
            tally = self._with_turn(tally, turn)
        return tally

    def verdict(self, tally: "TurnsTally") -> TurnsVerdict:
        """Return the verdict on a conversation that is over."""
        if tally.n_turns != len(self.gold):
            return TurnsVerdict(False, TERMINATED)
        return TurnsVerdict(False, tally.error, tally.n_passed) if tally.error else TurnsVerdict(True)

    def progress_after(self, tally: "TurnsTally", going_on: Sequence[PlayedTurn] = ()) -> float:
        """Return the share of the conversation that is right, 0-1.

        It is the number of leading turns that passed, and of the next one the share of gold's results that are present,
        divided by the number of turns. That share stays below 1, so that progress is 1 only where everything is right.

        Args:
            tally: Of the turns that are over.
            going_on: The turn that is not over, if there is one.
        """
        passed, share = tally.n_passed, 0.0
        is_begun = bool(tally.error) or bool(going_on)
        if is_begun and passed < len(self.gold) and self.gold[passed].results:
            present = tally.until_failure if tally.error else tally.results + Counter(going_on[0].results)
            wanted = Counter(self.gold[passed].results)
            n_wanted = wanted.total()
            share = min((wanted & present).total() / n_wanted, n_wanted / (n_wanted + 1))
        return (passed + share) / len(self.gold)

    def parts_of(self, tally: "TurnsTally") -> dict[str, float]:
        """Return the parts of the verdict on turns that are over.

        `state` and `response` are shares of the turns with gold calls, `irrelevance` of those without: how many of them
        have the right state, have all results, have no call. `cap` is 1 if no turn had too many responses, and
        `turns_passed` the number of leading turns that passed.
        """
        n_free = self._n_free
        n_called = len(self.gold) - n_free
        return {
            "state": tally.n_state / n_called if n_called else 1.0,
            "response": tally.n_response / n_called if n_called else 1.0,
            "irrelevance": tally.n_irrelevance / n_free if n_free else 1.0,
            "cap": float(not tally.is_over_cap),
            "turns_passed": float(tally.n_passed),
        }

    @cached_property
    def _n_free(self) -> int:
        return sum(not turn.calls for turn in self.gold)

    def _with_turn(self, tally: "TurnsTally", played: PlayedTurn) -> "TurnsTally":
        index = tally.n_turns
        is_capped = tally.is_over_cap or is_over_cap(played.n_responses)
        if index >= len(self.gold):
            return tally._replace(n_turns=index + 1, is_over_cap=is_capped)
        gold = self.gold[index]
        results = tally.results + Counter(played.results)
        has_state = bool(gold.calls) and has_equal_state(played.state, gold.state)
        has_results = bool(gold.calls) and Counter(gold.results) <= results
        error = tally.error or self._error(index, played, has_state=has_state, has_results=has_results)
        return TurnsTally(
            n_turns=index + 1,
            n_passed=tally.n_passed + (not error),
            error=error,
            results=results,
            until_failure=tally.until_failure if tally.error else results,
            n_state=tally.n_state + has_state,
            n_response=tally.n_response + has_results,
            n_irrelevance=tally.n_irrelevance + (not gold.calls and not played.calls),
            is_over_cap=is_capped,
        )

    def _error(self, index: int, played: PlayedTurn, *, has_state: bool, has_results: bool) -> str:
        """Return the failure of a turn, or ""."""
        added = self._added_error(index, played) if self.scoring == "sound" else ""
        if added or not self.gold[index].calls:
            return added
        if not played.calls:
            return EMPTY
        if not has_state:
            return STATE
        return "" if has_results else RESPONSE

    def _added_error(self, index: int, played: PlayedTurn) -> str:
        """Return what only the sound rule objects to."""
        if is_over_cap(played.n_responses):
            return TERMINATED
        if played.calls and not self.gold[index].calls:
            return IRRELEVANCE
        withheld = self.withheld(index)
        return WITHHELD if withheld and any(call.name in withheld for call in played.calls) else ""


class TurnsTally(NamedTuple):
    """What is known of turns that are over. A value: counting a turn gives another tally.

    Attributes:
        n_turns: How many are over.
        n_passed: Leading turns that passed.
        error: The first failure, or "".
        results: All results.
        until_failure: Those until the end of the first turn that failed.
        n_state, n_response: Turns with gold calls that have the right state, and all of gold's results.
        n_irrelevance: Turns without gold calls that have none.
        is_over_cap: Whether one had too many responses.
    """

    n_turns: int = 0
    n_passed: int = 0
    error: str = ""
    results: Counter[str] = Counter()  # noqa: RUF012 (never changed)
    until_failure: Counter[str] = Counter()  # noqa: RUF012
    n_state: int = 0
    n_response: int = 0
    n_irrelevance: int = 0
    is_over_cap: bool = False


def is_free_of_calls_where_gold_is(turns: Iterable[PlayedTurn], gold: Iterable[GoldTurn]) -> bool:
    """Whether no call was made in turns without gold calls: the official check that nothing uses."""
    return not any(played.calls and not wanted.calls for played, wanted in zip(turns, gold, strict=False))


def has_equal_state(state: ToolState, gold: ToolState) -> bool:
    """Whether every public attribute that gold's objects have is equal."""
    try:
        return all(
            _is_equal(state.instances[name], instance)
            for name, instance in gold.instances.items()
            if state.instances[name] is not instance
        )
    except (AttributeError, KeyError, RecursionError):  # directories in a circle can't be compared
        return False


def play(
    judge: TurnsJudge, answer: Sequence[Sequence[Any]], read: Callable[[Any], list[FunctionCall]]
) -> list[PlayedTurn]:
    """Run a whole answer: responses by turn. Responses that can't be read are skipped, as in the original.

    Args:
        judge: Whose conversation it is.
        answer: The responses.
        read: Reads the calls in one. Its `UnreadableCalls` is what skips it.
    """
    turns = []
    state = judge.start
    for index, responses in enumerate(answer):
        played = PlayedTurn(state)
        for response in responses:
            try:
                calls = read(response)
            except UnreadableCalls:
                continue
            if calls:
                played = extended(played, calls, judge.toolbox, withheld=judge.withheld(index))
        turns.append(played)
        state = played.state
    return turns


def read_officially(response: str) -> list[FunctionCall]:
    """Return the calls in a text as the official scripts run them.

    Raises:
        UnreadableCalls: They skip it.
    """
    return runnable(decoded(response))


def _is_equal(instance: Any, gold: Any) -> bool:
    return all(getattr(instance, name) == value for name, value in vars(gold).items() if not name.startswith("_"))
