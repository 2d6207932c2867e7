"""Defines the values that agents, verifiers and strategies exchange.

All values are immutable and independent of environments and I/O, so a strategy can be run with canned answers. What
they hold is made read-only by the runtime, as all components of a run are given the same values.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import add
from random import Random
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from iad_policy.errors import GoldError
from iad_policy.types.information import Information
from iad_policy.types.names import CUT_OFF
from iad_policy.types.read_only import ReadOnlyDict, read_only

AWAITING = "awaiting"
"""The `stop_reason` of a simulated state from which only the world can go on."""


class Usage(NamedTuple):
    """A vector of costs. Usages can be added.

    `seconds` is time spent inside calls, summed (not wall time). An answer from the cache counts with the seconds that
    it took at first, and `n_cached` counts those answers. `usd` counts only calls whose price is known, and
    `n_unpriced` counts the others. `n_unmetered` counts the calls of functions that did not say what they spent.
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
    n_unmetered: int = 0
    n_cached: int = 0

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
        """The values of all axes that are not zero, by axis."""
        return {axis: value for axis, value in zip(AXES, self, strict=True) if value}


AXES = Usage._fields
NOTHING = Usage()
FALLBACK = "committed as fallback: no candidate was an action"
"""The note of a decision that committed a legal action because no candidate was usable."""
UNLISTED = "no available action could be taken as it is: the fallback is an empty text, or a drawn action"
"""The note of such a decision where none or only patterns such as `search[...]` were available."""
FEEDBACK_DROPPED = "feedback dropped: the agent takes none, so what was to be a refinement is a fresh sample"
"""The note of a decision whose strategy gave feedback to an agent that takes none."""


class Part(NamedTuple):
    """A part of an agent's answer, such as the plan, the thought or the command.

    Attributes:
        name: Name of the part.
        text: Text of the part, unchanged.
        logprob: Sum of the log-probabilities of its tokens, including its heading, so that the parts add up to the
            answer. None if the model gave none.
    """

    name: str
    text: str
    logprob: float | None = None


class Exchange(NamedTuple):
    """One question to a language model, as it was sent, and the answer, as it was sampled.

    Attributes:
        prompt: The messages.
        text: The answer.
        finish: Why the answer ended: `stop`, `length` (it was cut at `max_tokens`), or the provider's own word.
        sampling: The model's name and the sampling parameters that were used; those that were left to the provider are
            missing.
        logprob_kind: How the server computed the log-probabilities of the answer's tokens: `model` before temperature
            and truncation, `sampled` after them; "" if that is not known or there are none.
        cached_tokens: Tokens of the prompt that the server had in its cache; None if it didn't say.
    """

    prompt: Sequence[Mapping[str, Any]]
    text: str
    finish: str = "stop"
    sampling: Mapping[str, Any] = MappingProxyType({})
    logprob_kind: str = ""
    cached_tokens: int | None = None

    @property
    def is_cut_off(self) -> bool:
        """Whether the answer ended at a limit of its length."""
        return self.finish == CUT_OFF


class Turn(NamedTuple):
    """One real or simulated step: the observation with its public info, and the action.

    `thought` and `parts` are the rest of the agent's answer. Only the action went to the environment.
    """

    observation: Any
    action: Any
    info: Mapping[str, Any] = MappingProxyType({})
    thought: str = ""
    parts: tuple[Part, ...] = ()


class PlannedActions(NamedTuple):
    """Actions to take, in order.

    Attributes:
        n_before: How many actions of the episode come before the first of them.
        actions: The actions.
    """

    n_before: int
    actions: tuple[Any, ...]


class Move(NamedTuple):
    """One simulated step: the action, and the index of one of its possible outcomes."""

    action: Any
    draw: int


@dataclass(frozen=True, slots=True)
class State:
    """A state of an episode, with everything that an agent may see there.

    Attributes:
        observation: The environment's observation, read-only: see `iad_policy.types.read_only`.
        info: The environment's public info, read-only too. Reading a gold key raises `GoldError`.
        path: Simulated steps from the last committed state. It is empty for the real state.
        history: The turns that led here, oldest first, including simulated ones.
        notes: Texts that a strategy adds for the agent, such as a summary or a reflection.
        plan: Actions that a strategy suggests, as data for agents that can't read the notes; None for none.
        steps_left: Actions that may still be committed; infinite if the environment has no limit.
        done: Whether the episode is over here, or a simulation can't go on: see `is_awaiting`.
        id: Identifier of the state, a hash that includes the parent's id.
        key: For a simulated state, the canonical form of the result that led there. Equal results have equal keys.
        wording: A paraphrase of the task that replaces it in the agent's prompt; "" for none. Only the agent sees it.
        is_random: Whether an action may have several outcomes here, each a `draw`. Also True if that is not known.
        is_answered: Whether the world added something to this real state that no simulation could know, such as the
            user's next message. Earlier plans may not fit it.
        gold: Gold information about the state. It is set only for a verifier (in previews) or an agent that is
            labelled `oracle`.
        thumbnail: For a recorded state, the path of its picture in the run folder; "" for none.
        failure: For a simulated state, what went wrong with the action that led there, in the environment's own words;
            "" if nothing did.
        changed: For a simulated state, whether this action changed the world. Also True if that is not known.
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
    failure: str = ""
    changed: bool = True
    plan: PlannedActions | None = None

    def __repr__(self) -> str:
        # The full observation, info and history are very long, and each candidate has its own.
        return f"State({str(self.observation)[:60]!r}, {len(self.path)} simulated, id={self.id!r})"

    @property
    def is_awaiting(self) -> bool:
        """Whether a simulation ends here because only the world can say what comes next; the episode is not over."""
        return bool(self.info.get("stop_reason") == AWAITING)

    @property
    def result(self) -> str:
        """The name of a simulated state's result: the environment's key, or else the observation."""
        return self.key or str(self.observation)

    def named_by(self) -> tuple[Any, ...]:
        """The values that a digest of the state covers."""
        return (self.id, self.notes, self.wording) if self.wording else (self.id, self.notes)

    def noted(self, *texts: str) -> "State":
        """Return this state with more notes for the agent."""
        return replace(self, notes=(*self.notes, *texts))

    def planned(self, plan: PlannedActions | None) -> "State":
        """Return this state with a plan for the agent."""
        return replace(self, plan=plan)

    def worded(self, wording: str) -> "State":
        """Return this state with a paraphrase of the task for the agent; "" for the environment's own text."""
        return replace(self, wording=wording)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verifier's score and critique of one candidate.

    Attributes:
        score: Score of the candidate; larger is better. It is -inf when verification failed (`critique` says why).
        critique: Text that an agent can use to refine.
        passed: True for "finalise", False for "iterate", None when the verifier doesn't say.
        details: Parts of the score, for reports.
    """

    score: float
    critique: str = ""
    passed: bool | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed action that is not committed yet.

    Attributes:
        action: An action of the environment's action space.
        thought: The agent's reasoning, if it gave one.
        error: Why the agent's answer is not a valid action; empty for a usable candidate.
        key: Canonical form of the action, for votes and de-duplication.
        usage: Cost of proposing it.
        logprobs: Log-probabilities of the answer's tokens, if the model gave them.
        parts: Parts of the answer, for agents whose answers have several. The action is one of them.
        feedback: The feedback that the agent got.
        preview: The simulated state after the action, if it was simulated.
        verdict: The verifier's verdict, if it was verified.
        id: Identifier that the driver sets, unique in an episode.
        at: Id of the state that it was proposed in, real or simulated; "" if the strategy made it itself.
        is_terminal: Whether the action may end the episode. The driver asks the environment.
        is_irreversible: Whether the action can't be taken back while the episode goes on. It is set in the same way.
        exchanges: What its agent asked a language model, and the answers, in order. The last answer has the action.
    """

    action: Any
    thought: str = ""
    error: str = ""
    key: str = ""
    usage: Usage = NOTHING
    logprobs: tuple[float, ...] | None = None
    parts: tuple[Part, ...] = ()
    feedback: "Feedback | None" = None
    preview: State | None = None
    verdict: Verdict | None = None
    id: str = ""
    at: str = ""
    is_terminal: bool = False
    is_irreversible: bool = False
    exchanges: tuple[Exchange, ...] = ()

    @property
    def score(self) -> float:
        """The verdict's score; NaN before verification."""
        return math.nan if self.verdict is None else self.verdict.score

    @property
    def logprob(self) -> float | None:
        """Log-probability of the answer, the sum over its parts (Agent Q). None if the model gave none."""
        if self.parts:
            return None if None in (sums := [part.logprob for part in self.parts]) else math.fsum(filter(None, sums))
        return None if self.logprobs is None else math.fsum(self.logprobs)

    def named_by(self) -> tuple[Any, ...]:
        """The values that a digest of the candidate covers."""
        verdict = self.verdict and (self.verdict.score, self.verdict.critique)
        return (self.action, self.thought, self.error, verdict)

    def shown(self) -> "Candidate":
        """Return this candidate as feedback shows it: without verdict, preview and its own feedback."""
        return replace(self, verdict=None, preview=None, feedback=None)


class ShownTokens(NamedTuple):
    """How much a feedback shows of each kind of text, in tokens of four characters.

    Attributes:
        action: Of a proposal (arXiv 2504.01931 v2 shows 200-300).
        result: Of what it led to.
        critique: Of what somebody said about it.
        best: Of the best proposal, where the proposals are listed. None: as of the others.
    """

    action: int = 300
    result: int = 150
    critique: int = 100
    best: int | None = None


SHOWN_TOKENS = ShownTokens()


class Said(NamedTuple):
    """A text about a proposal: a `review`, an `error`, an `output` or a `reward`."""

    kind: Literal["review", "error", "output", "reward"]
    text: str


@dataclass(frozen=True, slots=True)
class ShownAttempt:
    """An earlier proposal, as data for a feedback.

    Attributes:
        candidate: The proposal, without its verdict.
        shown_as: `tried` for one of a numbered list, `best`, `worst` or `last`; `unshown` if only what was wrong with
            it, or what it led to, is told.
        outcome: The simulated state after it, where its result is told.
        findings: What the verifier found, where that is told.
        said: What others said, where that is told.
        score: The verifier's score, where that is told.
    """

    candidate: Candidate
    shown_as: Literal["tried", "best", "worst", "last", "unshown"] = "tried"
    outcome: State | None = None
    findings: str = ""
    said: tuple[Said, ...] = ()
    score: float | None = None

    @property
    def failure(self) -> str:
        """Why it can't be carried out; "" if it can, or if that is not known."""
        errors = [one.text for one in self.said if one.kind == "error"]
        return self.candidate.error or "".join(errors) or ("" if self.outcome is None else self.outcome.failure)


DIFFER = "differ"
INSTRUCTIONS: Mapping[str, str] = {
    DIFFER: "Propose what differs from all that is shown, or repeat one of them if it is surely right.",
    "improve": "Do better than the best one, without the mistakes of the worst (arXiv 2504.01931, eq. 5).",
    "fix": "Name what is wrong, and then mend it.",
    "reflect": "Reflect on what was proposed and improve on it, with what the task names in mind (version 1).",
    "none": "Ask for nothing: the feedback is shown, and the question stays the same.",
}
"""Name of an instruction -> what an agent is asked for beside the feedback. `iad_policy.prompts` has the words."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """Feedback that an agent gets before it proposes again, as data and in words.

    Attributes:
        text: It in words. If it is "", the driver lets the prompts make them of the rest.
        attempts: The earlier proposals that it is about, oldest first, each with what is told about it. Either all are
            listed as tried, or none is; the same holds for unshown ones.
        preferred: Numbers, from 1, of the attempts that the verifier prefers, where that is told.
        best: The incumbent, without its verdict. It is the answer to revise where a method always revises the last one.
        worst: The candidate to avoid, without its verdict.
        instruction: The name of the instruction that goes with it; see `INSTRUCTIONS`.
        shown: How much of each text is shown.
    """

    text: str = ""
    attempts: tuple[ShownAttempt, ...] = ()
    preferred: tuple[int, ...] = ()
    best: Candidate | None = None
    worst: Candidate | None = None
    instruction: str = DIFFER
    shown: ShownTokens = SHOWN_TOKENS

    @property
    def tried(self) -> tuple[Candidate, ...]:
        """The candidates that are listed, oldest first, without their verdicts."""
        return tuple([one.candidate for one in self.attempts if one.shown_as in ("tried", "last")])

    @property
    def critique(self) -> str:
        """What others said about the attempts, in full: the judge's critique alone."""
        return "\n".join([said.text for one in self.attempts for said in one.said])


def score(candidate: Candidate) -> float:
    """Return a sort key: the candidate's score, or -inf for an unverified candidate."""
    return -math.inf if math.isnan(candidate.score) else candidate.score


class Outcome(NamedTuple):
    """The result of `simulate`; see `Simulator`.

    Attributes:
        token: The moment after the action.
        observation: What would be seen.
        info: The public info.
        done: Whether the simulation ends here.
        key: Canonical form of the result; equal results have equal keys.
        failure: What went wrong, in the environment's own words; "" if nothing did, or if it doesn't say.
        changed: Whether the world changed. Also True if it doesn't say.
    """

    token: Any
    observation: Any
    info: Mapping[str, Any]
    done: bool
    key: str
    failure: str = ""
    changed: bool = True


class RoleAnswer(NamedTuple):
    """A role and its answer.

    Attributes:
        role: The role.
        text: The answer.
        source: Source of the text: a model's name, or `template`.
        at: Id of the state that it was asked in, real or simulated.
    """

    role: str
    text: str
    source: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """One committed action, with everything that led to it.

    Attributes:
        state: The state in which the decision was made.
        candidates: All proposed candidates in order, each in its latest form (with verdict, if verified).
        committed: The candidate whose action went to the environment.
        budget: Usage of the decision, by role.
        cut: The limit that cut it short, such as `"decision.proposals"`; empty when none did.
        notes: Remarks for readers, such as dropped feedback, an overdraft, or no usable candidate.
        role_answers: Answers of the roles, in order.
        trees: Search trees that the strategy kept, each a `strategies.building_blocks.tree.Tree`.
    """

    state: State
    candidates: tuple[Candidate, ...]
    committed: Candidate
    budget: Mapping[str, Usage]
    cut: str = ""
    notes: tuple[str, ...] = ()
    role_answers: tuple[RoleAnswer, ...] = ()
    trees: tuple[Any, ...] = field(default=(), compare=False)

    @property
    def usage(self) -> Usage:
        """Total usage of the decision."""
        return sum(self.budget.values(), Usage())

    @property
    def is_fallback(self) -> bool:
        """Whether no candidate was an action, so that a legal action was committed instead. It keeps the error."""
        return self.committed.error != ""


class Agent(Protocol):
    """The base policy: proposes an action for a state."""

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return one candidate. An answer that is not a valid action becomes a candidate with `error`."""
        ...


class AsyncAgent(Protocol):
    """A base policy whose `propose` is a coroutine function. It runs on an event loop of the wrapper."""

    async def propose(
        self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random
    ) -> Candidate:
        """Return one candidate. See `Agent`."""
        ...


class LoadedAgent(Agent, Protocol):
    """An agent as the runtime uses it. Optional members that its author left out have these values."""

    identity: str = ""
    """A text that identifies everything its answers depend on. "" means its name and a digest of its source."""
    information: str = ""
    """Label `oracle` for an agent that sees gold; "" for every other agent."""
    model: Any = None
    """Its language model, if it has one. Roles use it too, through the run's cache."""
    trained_on: Mapping[str, Any] | None = None
    """What a trained component was trained on: see `iad_policy.learn.splits`. None for all others."""
    takes_feedback: bool = True
    """Whether it reads feedback. One that does not gets none: its refinements are fresh samples, and are called so."""


class Verifier(Protocol):
    """Scores candidates before one is committed.

    With `compares`, a verdict may depend on the whole set of candidates, but not on their order or on the verdicts that
    they already have. Without it, a verdict depends on the state and its own candidate alone.
    """

    information: Information
    needs_preview: bool

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Return one verdict per candidate, in order."""
        ...


class LoadedVerifier(Verifier, Protocol):
    """A verifier as the runtime uses it. Optional members that its author left out have these values."""

    identity: str = ""
    """A text that identifies everything its verdicts depend on. "" means its name and a digest of its source."""
    compares: bool = False
    """Whether a verdict depends on the other candidates. If so, `verify` gets all candidates that the strategy holds,
    and its verdicts replace their earlier ones. If not, it only gets candidates that have no verdict."""
    per_candidate: bool = False
    """Whether each candidate is verified in a separate call. Such calls can run in parallel. `compares` overrides it.
    """
    reads_info: bool = False
    """Whether it reads the structured info of previews, `facts` and `page`, which some simulators don't predict."""
    model: Any = None
    """Its language model, if it has one."""
    trained_on: Mapping[str, Any] | None = None
    """What a trained component was trained on: see `iad_policy.learn.splits`. None for all others."""


class Roles(Protocol):
    """Answers `Ask`: the critic, judge, ranker, evaluator, summariser, reflector and paraphraser."""

    source: str
    """Source of the answers, for the log: a model's name, or `template`."""

    def answer(self, role: str, state: State, subject: Any) -> str:
        """Return the role's text about the subject (candidates, states or texts)."""
        ...


class LoadedRoles(Roles, Protocol):
    """Roles as the runtime uses them. Optional members that their author left out have these values."""

    identity: str = ""
    """A text that identifies everything the answers depend on. "" means `source`."""
    information: str = ""
    """Label `oracle` for roles that see gold: candidates then come to them with it. "" for all others."""
    model: Any = None
    """The language model that answers, if there is one."""
    reads_info: bool = False
    """Whether they read the structured info of states, `facts` and `page`, which some simulators don't predict."""
    trained_on: Mapping[str, Any] | None = None
    """What a trained component was trained on: see `iad_policy.learn.splits`. None for all others."""


class PublicInfo(ReadOnlyDict):
    """An environment's info without its gold, read-only at any depth. Reading a gold key raises `GoldError`.

    `copy.deepcopy(info)` is a plain dict that can be changed. A change of the info itself raises `ReadOnlyError`.
    """

    __slots__ = ("_gold",)

    def __init__(self, info: Mapping[str, Any], gold: frozenset[str]) -> None:
        super().__init__({key: read_only(value) for key, value in info.items() if key not in gold})
        self._gold = gold

    def changed(self, values: Mapping[str, Any]) -> "PublicInfo":
        """Return a copy with new values for some keys."""
        return PublicInfo({**self, **values}, self._gold)

    def __missing__(self, key: str) -> Any:
        if key in self._gold:
            raise GoldError(
                f"expected a public info key, got {key!r}, which is gold; only a verifier labelled 'oracle' may use "
                f"it. Public here: {', '.join(self)}"
            )
        raise KeyError(f"{key}: not in this environment's info, which has {', '.join(self) or 'nothing'}")

    def get(self, key: str, default: Any = None) -> Any:
        """Work as `dict.get`, but raise `GoldError` for a gold key."""
        return self[key] if key in self or key in self._gold else default

    def __reduce__(self) -> tuple[Any, ...]:
        return PublicInfo, (dict(self), self._gold)
