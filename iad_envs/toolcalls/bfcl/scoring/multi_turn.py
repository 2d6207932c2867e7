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

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

from iad_envs.toolcalls.bfcl.conversations import PlayedTurn
from iad_envs.toolcalls.bfcl.data import Conversation, gold_calls
from iad_envs.toolcalls.calls import FunctionCall, shortened
from iad_envs.toolcalls.executor import Toolbox, ToolState
from iad_envs.toolcalls.rules import Rules


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

    def __init__(self, conversation: Conversation, toolbox: Toolbox, *, scoring: Rules = "official") -> None:
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

    def tallied(self, turns: Iterable[PlayedTurn], before: "TurnsTally | None" = None) -> "TurnsTally":
        """Return the tally of turns that are over, which goes on from that of the turns before them."""
        tally = TurnsTally() if before is None else before
        for played in turns:
            index = tally.n_turns
            is_capped = tally.is_over_cap or played.is_over_cap
            if index >= len(self.gold):
                tally = tally._replace(n_turns=index + 1, is_over_cap=is_capped)
                continue
            gold = self.gold[index]
            results = tally.results + Counter(played.results)
            has_state = bool(gold.calls) and has_equal_state(played.state, gold.state)
            has_results = bool(gold.calls) and Counter(gold.results) <= results
            error = tally.error or self._error(index, played, has_state=has_state, has_results=has_results)
            tally = TurnsTally(
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
        return tally

    def verdict(self, tally: "TurnsTally") -> TurnsVerdict:
        """Return the verdict on a conversation that is over."""
        if tally.n_turns != len(self.gold):
            return TurnsVerdict(False, "multi_turn:force_terminated")
        return TurnsVerdict(False, tally.error, tally.n_passed) if tally.error else TurnsVerdict(True)

    def explained(self, turns: Sequence[PlayedTurn]) -> str:
        """Return the first failure of a conversation that is over, in a line with what gold has; "" if it is right."""
        found = self.verdict(self.tallied(turns))
        if found.turn is None:
            return found.error_type and f"{found.error_type}: {len(turns)} of {len(self.gold)} turns came to their end"
        played, gold = turns[found.turn], self.gold[found.turn]
        said = {
            "multi_turn:force_terminated": f"{played.n_responses} responses",
            "multi_turn:irrelevance_error:decoder_success": f"nothing was to be called, got {_listed(played.calls)}",
            "multi_turn:withheld_function": f"not offered yet: {', '.join(sorted(self.withheld(found.turn)))}",
            "multi_turn:empty_turn_model_response": f"expected {_listed(gold.calls)}, got no call",
            "multi_turn:instance_state_mismatch": _state_apart(gold.state, played.state),
        }
        text = said.get(found.error_type)
        if text is None:
            lacking = Counter(gold.results) - sum((Counter(one.results) for one in turns[: found.turn + 1]), Counter())
            pairs = zip(gold.calls, gold.results, strict=True)
            text = f"no result as that of {_listed([call for call, result in pairs if result in lacking])}"
        return f"{found.error_type} in turn {found.turn + 1}: {text}"

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
        n_free = sum(not turn.calls for turn in self.gold)
        n_called = len(self.gold) - n_free
        return {
            "state": tally.n_state / n_called if n_called else 1.0,
            "response": tally.n_response / n_called if n_called else 1.0,
            "irrelevance": tally.n_irrelevance / n_free if n_free else 1.0,
            "cap": float(not tally.is_over_cap),
            "turns_passed": float(tally.n_passed),
        }

    def _error(self, index: int, played: PlayedTurn, *, has_state: bool, has_results: bool) -> str:
        """Return the failure of a turn, or ""."""
        gold = self.gold[index]
        if self.scoring == "sound":
            if played.is_over_cap:
                return "multi_turn:force_terminated"
            if played.calls and not gold.calls:
                return "multi_turn:irrelevance_error:decoder_success"
            withheld = self.withheld(index)
            if withheld and any(call.name in withheld for call in played.calls):
                return "multi_turn:withheld_function"
        if not gold.calls:
            return ""
        if not played.calls:
            return "multi_turn:empty_turn_model_response"
        if not has_state:
            return "multi_turn:instance_state_mismatch"
        return "" if has_results else "multi_turn:execution_response_mismatch"


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


def _listed(calls: Iterable[FunctionCall]) -> str:
    return shortened(", ".join(map(str, calls)))


def _state_apart(gold: ToolState, state: ToolState) -> str:
    """Return the first public attribute in which objects differ from gold's, with what each side has alone."""
    for name, instance in gold.instances.items():
        own = state.instances.get(name)
        for key, value in vars(instance).items():
            with suppress(RecursionError):  # directories in a circle can't be compared, or written
                if key.startswith("_") or (got := getattr(own, key, None)) == value:
                    continue
                sides, words = [value, got], ("expected", "got")
                if isinstance(value, tuple | list) and isinstance(got, tuple | list):
                    alone = [[one for one in value if one not in got], [one for one in got if one not in value]]
                    if any(alone):
                        sides, words = alone, ("missing", "too many")
                expected, other = _where_apart(*(re.sub(" at 0x[0-9a-f]+", "", repr(one)) for one in sides))
                return f"{name}.{key}: {words[0]} {expected}, {words[1]} {other}"
    return "objects can't be compared"


def _where_apart(*texts: str) -> Iterator[str]:
    """Yield texts, of long ones the begin and where they first differ."""
    same = next((at for at, two in enumerate(zip(*texts, strict=False)) if len(set(two)) > 1), 0)
    start = max(same - 20, 40)
    for text in texts:
        yield text if len(text) <= 100 else f"{text[:40]} ... {text[start : start + 50]} ..."


def has_equal_state(state: ToolState, gold: ToolState) -> bool:
    """Whether every public attribute that gold's objects have is equal."""
    try:
        return all(
            getattr(state.instances[name], key) == value
            for name, instance in gold.instances.items()
            if state.instances[name] is not instance
            for key, value in vars(instance).items()
            if not key.startswith("_")
        )
    except (AttributeError, KeyError, RecursionError):  # directories in a circle can't be compared
        return False
