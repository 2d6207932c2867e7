"""The values that agents, verifiers and strategies exchange.

All are immutable and know nothing of environments or I/O, so a strategy can be run with canned answers.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import add
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from iad_policy.errors import GoldError
from iad_policy.information import Information

AWAITING = "awaiting"
"""The `stop_reason` of a simulated state from which only the world can go on."""
SHOWN_CHARS = 60
"""Of an observation, in the repr of a state."""


class Usage(NamedTuple):
    """What was spent: a vector that adds up.

    `seconds` is time spent inside calls, summed (not wall time). `usd` counts only calls whose price is known;
    `n_unpriced` says how many were not.
    """

    proposals: int = 0
    verifications: int = 0
    simulations: int = 0
    asks: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    env_steps: int = 0
    seconds: float = 0.0
    usd: float = 0.0
    n_unpriced: int = 0

    def __add__(self, other: "Usage") -> "Usage":  # type: ignore[override]  # a vector's sum, not a longer tuple
        return tuple.__new__(Usage, map(add, self, other))  # it is added many times per request

    def __repr__(self) -> str:
        spent = ", ".join(f"{axis}={value:.6g}" for axis, value in self.as_dict().items())
        return f"Usage({spent})"

    def __bool__(self) -> bool:
        return any(self)

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def as_dict(self) -> dict[str, float]:
        """The axes that are not zero."""
        return {axis: value for axis, value in zip(AXES, self, strict=True) if value}


AXES = Usage._fields
NOTHING = Usage()


class Part(NamedTuple):
    """A part of an agent's answer: the plan, the thought, the command ...

    Attributes:
        name: Which part.
        text: As it was written.
        logprob: The sum over its tokens, its heading's among them, so that the parts add up to the answer; None where
            the model gave none.
    """

    name: str
    text: str
    logprob: float | None = None


class Turn(NamedTuple):
    """One step that was taken, for real or in a simulation: what was seen, with its public info, and what was done.

    `thought` and `parts` are what the agent wrote beside the action; only the action went to the environment.
    """

    observation: Any
    action: Any
    info: Mapping[str, Any] = MappingProxyType({})
    thought: str = ""
    parts: tuple[Part, ...] = ()


class Move(NamedTuple):
    """One simulated step: which action, and which of its possible outcomes."""

    action: Any
    draw: int


@dataclass(frozen=True, slots=True)
class State:
    """Where a decision is made: what an agent may see there.

    Attributes:
        observation: As the environment gave it.
        info: The environment's public info; asking it for a gold key raises `GoldError`.
        path: Simulated steps from the last committed state; empty for the real state.
        history: The turns that led here, oldest first, simulated ones included.
        notes: Texts a strategy adds for the agent to read (a summary, a reflection).
        steps_left: Actions that may still be committed; infinite where the environment has no limit.
        done: True when the episode is over here, or a simulation can't go on: see `is_awaiting`.
        id: Names the state; chained from its parent's.
        key: Of a simulated state, the canonical form of the result that led there: equal for equal results.
        wording: The task in other words, if a strategy wants the agent to read it so; nobody else does.
        is_random: Whether an action may have several outcomes here, each a `draw`; True also where that is not known.
        is_answered: True for a real state that the world brought about with what no simulation could know, such as the
            user's next message. What was planned before may not fit it.
        gold: The oracle's findings, only in what is shown to a verifier (in previews) or an agent labelled `oracle`.
        thumbnail: Of a recorded state, the path of a picture of it in the run folder; "" for none.
    """

    observation: Any
    info: Mapping[str, Any]
    path: tuple[Move, ...] = ()
    history: tuple[Turn, ...] = ()
    notes: tuple[str, ...] = ()
    steps_left: float = math.inf
    done: bool = False
    id: str = ""
    key: str = ""
    wording: str = ""
    is_random: bool = False
    is_answered: bool = False
    gold: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    thumbnail: str = field(default="", compare=False)

    def __repr__(self) -> str:
        # A page, an info and a history in full are screens long, and each candidate has its own.
        return f"State({str(self.observation)[:SHOWN_CHARS]!r}, {len(self.path)} simulated, id={self.id!r})"

    @property
    def is_awaiting(self) -> bool:
        """Whether a simulation ends here because only the world can say what comes next; the episode is not over."""
        return bool(self.info.get("stop_reason") == AWAITING)

    def named_by(self) -> tuple[Any, ...]:
        """What a digest of it covers."""
        return (self.id, self.notes, self.wording) if self.wording else (self.id, self.notes)

    def noted(self, *texts: str) -> "State":
        """This state with more notes for the agent."""
        return replace(self, notes=(*self.notes, *texts))

    def worded(self, wording: str) -> "State":
        """This state with the task in other words for the agent; "" for the environment's own."""
        return replace(self, wording=wording)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verifier says of one candidate.

    Attributes:
        score: Larger is better; -inf when verification failed (`critique` says why).
        critique: Words an agent can use.
        passed: True for "finalise", False for "iterate", None when the verifier doesn't say.
        details: Parts of the score, for reports.
    """

    score: float
    critique: str = ""
    passed: bool | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Feedback:
    """What an agent is told before it proposes again.

    Attributes:
        text: The block for a prompt.
        best: The incumbent, without its verdict.
        worst: The candidate to keep away from, without its verdict.
        critique: The judge's words alone.
    """

    text: str
    best: "Candidate | None" = None
    worst: "Candidate | None" = None
    critique: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed action that is not committed yet.

    Attributes:
        action: In the environment's action space.
        thought: The agent's reasoning, if it gave one.
        error: Why the agent's answer is no action; empty for a usable candidate.
        key: Canonical form of the action, for votes and de-duplication.
        usage: What proposing it cost.
        logprobs: Log-probabilities of the answer's tokens, if the model gave them.
        parts: Of the answer, for agents that compose it of several; the action is one of them.
        feedback: What the agent was told.
        preview: The simulated state after it, if there was a simulation.
        verdict: The verifier's word, if it was verified.
        id: Given by the driver; unique in an episode.
        at: The id of the state that it was proposed in, real or simulated; "" where the strategy made it itself.
        is_terminal: Whether the action may end the episode, as the environment says; set by the driver with `key`.
        is_irreversible: Whether the action can't be taken back while the episode goes on; set with `key`, too.
    """

    action: Any
    thought: str = ""
    error: str = ""
    key: str = ""
    usage: Usage = NOTHING
    logprobs: tuple[float, ...] | None = None
    parts: tuple[Part, ...] = ()
    feedback: Feedback | None = None
    preview: State | None = None
    verdict: Verdict | None = None
    id: str = ""
    at: str = ""
    is_terminal: bool = False
    is_irreversible: bool = False

    @property
    def score(self) -> float:
        """The verdict's score; NaN before verification."""
        return math.nan if self.verdict is None else self.verdict.score

    @property
    def logprob(self) -> float | None:
        """Log-probability of the answer, the sum over its parts (Agent Q); None where the model gave none."""
        if self.parts:
            return None if None in (sums := [part.logprob for part in self.parts]) else math.fsum(filter(None, sums))
        return None if self.logprobs is None else math.fsum(self.logprobs)

    def named_by(self) -> tuple[Any, ...]:
        """What a digest of it covers."""
        verdict = self.verdict and (self.verdict.score, self.verdict.critique)
        return (self.action, self.thought, self.error, verdict)

    def shown(self) -> "Candidate":
        """This candidate as feedback shows it: without verdict, preview and its own feedback."""
        return replace(self, verdict=None, preview=None, feedback=None)


def score(candidate: Candidate) -> float:
    """Sort key: the candidate's score, an unverified one below every verified one."""
    return -math.inf if math.isnan(candidate.score) else candidate.score


class Outcome(NamedTuple):
    """What `simulate` answers: see `Simulator`."""

    token: Any
    observation: Any
    info: Mapping[str, Any]
    done: bool
    key: str


class RoleAnswer(NamedTuple):
    """A role's text.

    Attributes:
        role: The role.
        text: What it answered.
        source: Where the text is from: a model's name, or `template`.
        at: The id of the state that it was asked in, real or simulated.
    """

    role: str
    text: str
    source: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """One committed action and how it came about.

    Attributes:
        state: Where it was decided.
        candidates: Everything proposed, in order, each as last seen (with verdict, if verified).
        committed: The candidate whose action went to the environment.
        budget: What the decision spent, by role.
        cut: The limit that cut it short, such as `"decision.proposals"`; empty when none did.
        notes: What a reader should know (feedback dropped, overdraft, no usable candidate).
        role_answers: The texts of the roles, in order.
    """

    state: State
    candidates: tuple[Candidate, ...]
    committed: Candidate
    budget: Mapping[str, Usage]
    cut: str = ""
    notes: tuple[str, ...] = ()
    role_answers: tuple[RoleAnswer, ...] = ()

    @property
    def asked(self) -> tuple[RoleAnswer, ...]:
        """The former name of `role_answers`."""
        warnings.warn(
            "expected role_answers, got asked, its former name, which the next version doesn't have; rename it",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.role_answers

    @property
    def usage(self) -> Usage:
        """What the decision spent in all."""
        return sum(self.budget.values(), Usage())


class Agent(Protocol):
    """The base policy: proposes an action for a state."""

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return one candidate; an answer that is no action is a candidate with `error`."""
        ...


class LoadedAgent(Agent, Protocol):
    """An agent as the runtime uses it: optional members that its author left out have these values."""

    identity: str = ""
    """Names everything that its answers depend on; "" stands for its name and a digest of its source."""
    information: str = ""
    """`oracle` for an agent that is shown gold."""
    model: Any = None
    """Its language model, if it has one: it also answers for roles, behind the run's cache."""


class Verifier(Protocol):
    """Scores candidates before one is committed.

    A verdict may depend on the state, its candidate, and the union of `candidates` and `among`, but not on which of
    the two a candidate stands in: after an interruption the recorded ones come back through `among`.
    """

    information: Information
    needs_preview: bool

    def verify(self, state: State, candidates: Sequence[Candidate], among: Sequence[Candidate]) -> Sequence[Verdict]:
        """Return one verdict per candidate, in order."""
        ...


class LoadedVerifier(Verifier, Protocol):
    """A verifier as the runtime uses it: optional members that its author left out have these values."""

    identity: str = ""
    """Names everything that its verdicts depend on; "" stands for its name and a digest of its source."""
    per_candidate: bool = False
    """Whether each candidate is verified in a call of its own, which can run in parallel."""
    model: Any = None
    """Its language model, if it has one."""


class Roles(Protocol):
    """Answers `Ask`: the critic, judge, ranker, evaluator, summariser, reflector and paraphraser."""

    source: str
    """Where answers come from, for the log: a model's name, or `template`."""

    def answer(self, role: str, state: State, subject: Any) -> str:
        """Return the role's text about the subject (candidates, states or texts)."""
        ...


class LoadedRoles(Roles, Protocol):
    """Roles as the runtime uses them: optional members that their author left out have these values."""

    identity: str = ""
    """Names everything that the texts depend on; "" stands for `source`."""
    model: Any = None
    """The language model that answers, if there is one."""


class PublicInfo(dict[str, Any]):
    """An environment's info without its gold; asking for a gold key says so instead of being merely absent."""

    __slots__ = ("_gold",)

    def __init__(self, info: Mapping[str, Any], gold: frozenset[str]) -> None:
        super().__init__((key, value) for key, value in info.items() if key not in gold)
        self._gold = gold

    def changed(self, values: Mapping[str, Any]) -> "PublicInfo":
        """Return it with other values of some keys."""
        return PublicInfo({**self, **values}, self._gold)

    def __missing__(self, key: str) -> Any:
        if key in self._gold:
            raise GoldError(
                f"expected a public info key, got {key!r}, which is gold; only a verifier labelled 'oracle' may use "
                f"it. Public here: {', '.join(self)}"
            )
        raise KeyError(f"{key}: not in this environment's info, which has {', '.join(self) or 'nothing'}")

    def get(self, key: str, default: Any = None) -> Any:
        """As `dict.get`, but a gold key raises `GoldError`."""
        return self[key] if key in self or key in self._gold else default
