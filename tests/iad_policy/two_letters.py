"""A world for hand-worked trees: an episode is a word of two letters, and a table says what each word is worth."""

from collections.abc import Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from iad_policy import All, Ask, Candidate, Commit, Keep, Propose, Simulate, State, Verdict, Verify
from iad_policy.errors import BudgetExhausted
from iad_policy.types import Move


def letter(action: str) -> Candidate:
    return Candidate(action, key=action, error="" if action else "no letter")


@dataclass
class TwoLetters:
    """Answers what a strategy asks, and notes it, and the search trees that are kept."""

    worth: Mapping[str, float] = field(default_factory=dict)  # the verifier's score of each word, "a" to "bb"
    favourite: Mapping[str, str] = field(default_factory=dict)  # the ranker's, by the word so far
    letters: str = "ab"  # what is proposed, over and over; a single proposal is the first
    n_granted: float = float("inf")  # requests that a decision's budget covers, beside its first proposal and commits
    length: int = 2
    asked: list[Any] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)
    word: str = ""
    _n_left: float = 0.0
    _is_owed: bool = True

    @property
    def here(self) -> State:
        """The real state."""
        return self.state(self.word, ())

    def state(self, word: str, path: tuple[Move, ...]) -> State:
        """The state in which a word was written."""
        return State(word, {}, path=path, done=len(word) >= self.length, id=word)

    def run(self, strategy: Any) -> str:
        """Run a strategy to the episode's end; returns the word it committed."""
        self._decide()
        with suppress(StopIteration):
            request = next(generator := strategy(self.here))
            while True:
                if isinstance(request, Commit):
                    self.word += request.candidate.action or "?"
                    self._decide()
                    request = generator.send(self.here)
                else:
                    request = self._answered(generator, request)
        return self.word

    def look(self, generator: Generator[Any, Any, Any]) -> Any:
        """Run a generator that commits nothing; returns its result."""
        self._decide()
        return self._result(generator)

    def _decide(self) -> None:
        self._n_left, self._is_owed = self.n_granted, True

    def _result(self, generator: Generator[Any, Any, Any]) -> Any:
        try:
            request = next(generator)
            while True:
                request = self._answered(generator, request)
        except StopIteration as stop:
            return stop.value
        except BudgetExhausted:
            return None

    def _answered(self, generator: Generator[Any, Any, Any], request: Any) -> Any:
        """Send the answer to a request, or throw that the budget does not cover it; returns the next request."""
        if isinstance(request, Keep):
            self.kept.append(request.tree)
            return generator.send(None)
        if isinstance(request, All):
            return generator.send([self._result(branch) for branch in request.generators])
        if self._is_owed and isinstance(request, Propose) and not request.at.path:
            self._is_owed = False
        elif self._n_left < 1:
            return generator.throw(BudgetExhausted("decision.proposals"))
        else:
            self._n_left -= 1
        self.asked.append(request)
        return generator.send(self._answers(request))

    def _answers(self, request: Any) -> Any:
        word = request.at.observation
        if isinstance(request, Propose):
            return [letter(self.letters[place % len(self.letters)].strip()) for place in range(request.n)]
        if isinstance(request, Verify):
            return [self._verified(word, candidate) for candidate in request.candidates]
        if isinstance(request, Simulate):
            move = Move(request.candidate.action, request.draw)
            return self.state(word + (request.candidate.action or "?"), (*request.at.path, move))
        assert isinstance(request, Ask)
        if request.role == "ranker":
            actions = [candidate.action for candidate in request.subject]
            return str(actions.index(self.favourite[word]) if self.favourite.get(word) in actions else 0)
        return f"not {request.subject[0].observation}"

    def _verified(self, word: str, candidate: Candidate) -> Candidate:
        score = self.worth.get(word + candidate.action, 0.0) if not candidate.error else float("-inf")
        return Candidate(candidate.action, key=candidate.key, error=candidate.error, verdict=Verdict(score))


def visits(tree: Any) -> dict[str, tuple[int, float]]:
    """The tree's actions by the word they make: N and Q (rounded as a hand-worked table is)."""
    edges = [edge for node in tree.nodes() for edge in node.edges]
    return {edge.node.state.observation + edge.candidate.action: (edge.n, round(edge.q, 4)) for edge in edges}
