"""Language models as verifiers. They are labelled `self`: they see only what the agent sees.

There are three kinds: a score with a critique, a comparison of pairs, and a decision to finalise or iterate. A judge
sees a candidate's simulated outcome if there is one, but never the agent's reasoning.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import gymnasium as gym

from iad_policy.models import LanguageModel, identity_of
from iad_policy.models.component import ModelComponent
from iad_policy.prompts import Prompts, prompts_of
from iad_policy.types import Candidate, State, Verdict
from iad_policy.types.answers import read_choice, read_critique, read_score
from iad_policy.types.information import Information


class _Judge(ModelComponent):
    """The parts that all judges share.

    Args:
        model: A litellm name or an object with `complete`.
        prompts: An environment's prompt files.
        needs_preview: Whether the judge sees the simulated outcome of every candidate.
        temperature: Sampling temperature of the judge. 0 makes verdicts as repeatable as the provider allows.
        max_tokens: Maximum length of an answer.
    """

    information: Information = "self"
    role = ""

    def __init__(
        self,
        model: str | LanguageModel,
        prompts: Prompts | None = None,
        *,
        needs_preview: bool = True,
        temperature: float | None = 0.0,
        max_tokens: int | None = 512,
    ) -> None:
        super().__init__(model, temperature=temperature, max_tokens=max_tokens)
        self.needs_preview = needs_preview
        self._prompts = prompts or Prompts()

    @property
    def identity(self) -> str:
        """Everything its verdicts depend on."""
        prompts = self._prompts.digest([self.role])
        return f"{identity_of(self.model)} {self.role} prompts={prompts} {self.sampling} preview={self.needs_preview}"

    def _ask(self, state: State, **blocks: str) -> str:
        prompt = self._prompts.render(self.role, **self._prompts.rendering.values(state), **blocks)
        return self.complete(prompt.messages()).text


JudgeT = TypeVar("JudgeT", bound=_Judge)


class ScoringJudge(_Judge):
    """Scores each candidate 0-10, scaled to 0-1, with a critique."""

    role = "score"
    per_candidate = True

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Ask about each candidate separately."""
        words = self._prompts.rendering
        return [self._read(self._ask(state, candidate=words.candidate(candidate))) for candidate in candidates]

    def _read(self, text: str) -> Verdict:
        score = read_score(text)
        if score is None:
            return _malformed('a line "Score: n" with a number from 0 to 10', text)
        return Verdict(score, read_critique(text, "score"))


class FinalisingJudge(ScoringJudge):
    """Decides for each candidate whether to finalise it (score 1) or to iterate (score 0), and says why."""

    role = "finalise"

    def _read(self, text: str) -> Verdict:
        decision = read_choice(text, "decision", (r"finali[sz]\w*", r"iterat\w*"))
        if decision is None:
            return _malformed('a line "Decision: finalise" or "Decision: iterate"', text)
        is_final = decision.startswith("finali")
        return Verdict(1.0 if is_final else 0.0, read_critique(text, "decision"), passed=is_final)


class PairwiseJudge(_Judge):
    """Compares candidates in pairs. The score is the share of comparisons won, where a tie is half a win.

    Every pair is shown in both orders, since models prefer a position. N different candidates cost N (N - 1) calls. A
    chain compares all its candidates again with each new one. A single candidate scores 0.5.
    """

    role = "compare"
    compares = True

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Compare each candidate with all others. Equal actions count as one."""
        blocks: dict[str, str] = {}
        for candidate in candidates:
            block = self._prompts.rendering.candidate(candidate)
            blocks[candidate.key] = min(blocks.get(candidate.key, block), block)
        comparisons = {
            (one, other): self._compare(state, blocks[one], blocks[other])
            for one, other in combinations(sorted(blocks), 2)
        }
        return [self._verdict(candidate.key, comparisons) for candidate in candidates]

    def _verdict(self, key: str, comparisons: "dict[tuple[str, str], _ComparedPair]") -> Verdict:
        own = [
            comparison if one == key else comparison._replace(won=1.0 - comparison.won)
            for (one, other), comparison in comparisons.items()
            if key in (one, other)
        ]
        if not own:
            return Verdict(0.5, "There was nothing to compare it with.")
        readable = [comparison for comparison in own if comparison.n_read]
        if not readable:
            return _malformed('a line "Better: first", "Better: second" or "Better: equal"', own[0].critique)
        score = sum(comparison.won for comparison in readable) / len(readable)
        # The critique of the clearest loss says most about what to change.
        worst = min(readable, key=lambda comparison: comparison.won)
        return Verdict(score, worst.critique, details={"n_compared": len(readable)})

    def _compare(self, state: State, one: str, other: str) -> "_ComparedPair":
        won, n_read, critiques = 0.0, 0, []
        for first, second, points in ((one, other, (1.0, 0.0, 0.5)), (other, one, (0.0, 1.0, 0.5))):
            text = self._ask(state, first=first, second=second)
            better = read_choice(text, "better", ("first", "second", "equal"))
            if better is None:
                critiques.append(text)
                continue
            won += dict(zip(("first", "second", "equal"), points, strict=True))[better]
            n_read += 1
            critiques.insert(0, read_critique(text, "better"))
        return _ComparedPair(won / n_read if n_read else 0.5, n_read, critiques[0])


class _ComparedPair(NamedTuple):
    """A comparison: the share that the first one won, the number of readable answers, and the critique."""

    won: float
    n_read: int
    critique: str


def judge(env: gym.Env[Any, Any], model: str | LanguageModel = "", **options: Any) -> ScoringJudge:
    """Let a language model score each candidate from 0 to 1, with a critique. It sees the simulated outcome.

    The outcome needs an environment that can simulate. `needs_preview=False` saves the simulation.

    Raises:
        ValueError: The model's name is empty.
    """
    return _made(ScoringJudge, env, model, options)


def pairwise_judge(env: gym.Env[Any, Any], model: str | LanguageModel = "", **options: Any) -> PairwiseJudge:
    """Let a language model compare candidates two by two, in both orders. See `judge`."""
    return _made(PairwiseJudge, env, model, options)


def finalising_judge(env: gym.Env[Any, Any], model: str | LanguageModel = "", **options: Any) -> FinalisingJudge:
    """Let a language model decide to finalise or to iterate. See `judge`."""
    return _made(FinalisingJudge, env, model, options)


def _made(kind: type[JudgeT], env: gym.Env[Any, Any], model: str | LanguageModel, options: Mapping[str, Any]) -> JudgeT:
    return kind(model, prompts_of(env), **{"needs_preview": hasattr(env.unwrapped, "simulate"), **options})


def _malformed(expected: str, text: str) -> Verdict:
    critique = f"expected {expected} from the judge, got {text[:200]!r}"
    return Verdict(-math.inf, critique, details={"error_kind": "malformed"})
