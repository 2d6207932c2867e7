"""Answers each request of a strategy by splitting it into work units.

An answering generator yields batches of work units. The driver executes a batch and sends the results back.
"""

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count as count_from
from random import Random
from typing import Any

from iad_policy.errors import BudgetExhausted, ContractError, IADError, ModelError
from iad_policy.ledger.answer_log import AnswerLine
from iad_policy.ledger.codec import (
    candidate_of,
    candidate_record,
    outcome_of,
    outcome_record,
    verdict_of,
    verdict_record,
)
from iad_policy.prompts.feedback import feedback_text
from iad_policy.prompts.rendering import leaves
from iad_policy.requests import Ask, Keep, Propose, Simulate, Verify
from iad_policy.roles import component_for
from iad_policy.roles.paraphrase_check import agent_view, usable_answer
from iad_policy.runtime.batching import Cut, Item, Result, WorkUnit
from iad_policy.runtime.components import Components
from iad_policy.runtime.episode import LiveEpisode, next_id
from iad_policy.runtime.event_loop import EventLoop
from iad_policy.runtime.spending import Spending
from iad_policy.strategies.building_blocks.feedback_forms import fingerprint
from iad_policy.strategies.building_blocks.tree_record import tree_record
from iad_policy.types import (
    FALLBACK,
    FEEDBACK_DROPPED,
    UNLISTED,
    Candidate,
    LoadedVerifier,
    Outcome,
    RoleAnswer,
    State,
    Usage,
    Verdict,
    score,
)
from iad_policy.types.hashing import digest, dumps
from iad_policy.types.information import may_read_gold
from iad_policy.types.names import SIMULATOR
from iad_policy.types.read_only import ReadOnlyList, read_only
from iad_policy.types.texts import well_formed
from iad_policy.types.traces import place_of

Answering = Generator[list[WorkUnit], list[Result], Any]


class Answerer:
    """Answers the requests of one decision.

    Args:
        components: The components that answer.
        episode: The episode of the decision.
        spending: The decision's budget.
        event_loop: The loop for components that are coroutine functions.
        name: Name of the decision. The names of its requests are this name and a number.
    """

    def __init__(
        self, components: Components, episode: LiveEpisode, spending: Spending, event_loop: EventLoop, *, name: str
    ) -> None:
        self._components = components
        self._episode = episode
        self._event_loop = event_loop
        self._world = episode.world
        self._agent_reads_gold = may_read_gold(components.agent)
        self._simulator = episode.simulator
        self._simulation_payer = "agent" if episode.simulator.is_perfect else SIMULATOR
        self._spending = spending
        self._names = (f"{name}.{place}" for place in count_from(0))
        self._here: set[str] = set()
        self.candidates: dict[str, Candidate] = {}
        self.notes: dict[str, None] = {}
        self.role_answers: list[RoleAnswer] = []
        self.trees: list[Any] = []

    def answer(self, request: Any) -> Answering:
        """Return the generator that answers a request."""
        name = next(self._names)
        if isinstance(request, Propose):
            return self._propose(request, name)
        if isinstance(request, Verify):
            return self._verify(request, name)
        if isinstance(request, Simulate):
            return self._simulate(request, name)
        if isinstance(request, Ask):
            return self._ask(request, name)
        if isinstance(request, Keep):
            return self._keep(request, name)
        raise ContractError(
            f"expected a strategy to yield Propose, Verify, Simulate, Ask, All, Keep or Commit, got {request!r:.200}; "
            "Commit is for the strategy itself, not for generators inside All"
        )

    def _propose(self, request: Propose, name: str) -> Answering:
        if request.n < 1:
            raise ContractError(f"expected Propose with n of 1 or more, got {request.n}")
        at, feedback = request.at, request.feedback
        if feedback is not None and not self._components.agent.takes_feedback:
            self.notes[FEEDBACK_DROPPED] = None
            feedback, request = None, replace(request, feedback=None)
        if feedback is not None and feedback.attempts and not feedback.text:
            feedback = replace(feedback, text=feedback_text(feedback, self._episode.words))
            request = replace(request, feedback=feedback)
        is_plain = feedback is None and not at.path
        granted, is_guaranteed = self._spending.reserve_proposals(request.n, item=name, is_plain=is_plain)
        if is_guaranteed and self._spending.overdraft:
            self.notes[f"overdraft: one proposal beyond {self._spending.overdraft}"] = None
        prompt = digest("propose", *at.named_by(), fingerprint(feedback), request.temperature)
        tasks = [
            self._proposal(request, prompt, f"{name}.{place}", is_guaranteed=is_guaranteed and place == 0)
            for place in range(granted)
        ]
        answers: list[Candidate] = []
        for task, (answer,) in zip(tasks, (yield tasks), strict=True):
            if isinstance(answer, Cut):
                self._spending.refund("agent", "proposals", limit=answer.axis)
                continue
            made, item = answer.value, task.items[0].name
            # Asked again for a recorded candidate, as the log holds the action and not what it risks.
            ends, lasts = self._risks(made.action, made.error)
            # By place, as `replace` takes several times as long.
            candidate = Candidate(
                read_only(made.action),
                # The log has them as the agent gave them.
                well_formed(made.thought),
                well_formed(made.error),
                made.key,
                Usage(1 + answer.usage.proposals, *answer.usage[1:]),  # one more than its call reported
                read_only(made.logprobs),
                read_only(made.parts),
                feedback,
                None,  # no preview
                None,  # no verdict
                item,
                at.id,
                ends,
                lasts,
                read_only(made.exchanges),
            )
            self.candidates[item] = candidate
            if not at.path:
                self._here.add(item)
            answers.append(candidate)
        if not answers:
            raise BudgetExhausted(self._spending.cut)
        return answers

    def _proposal(self, request: Propose, prompt: str, name: str, *, is_guaranteed: bool) -> WorkUnit:
        call = self._episode.call(prompt)
        is_first, self._episode.has_proposals = not self._episode.has_proposals, True

        def work(known: Mapping[int, Any]) -> list[Candidate]:
            at = self._golden(request.at) if self._agent_reads_gold else request.at
            with self._world.guard():
                proposed = self._components.agent.propose(
                    agent_view(at),
                    feedback=request.feedback,
                    temperature=request.temperature,
                    rng=Random(call.seed),
                )
                candidate = self._event_loop.result_of(proposed)
            if not isinstance(candidate, Candidate):
                raise ContractError(
                    f"expected propose() of {type(self._components.agent).__name__} to return a Candidate, got "
                    f"{candidate!r:.200}; a plain function may return an action"
                )
            call.report(candidate.usage)
            _require_text(self._components.agent, "a Candidate", "thought", candidate.thought)
            _require_text(self._components.agent, "a Candidate", "error", candidate.error)
            action = well_formed(candidate.action)
            if is_first and not candidate.error:
                self._world.require_type(action)
            error = candidate.error or self._world.complaint(action)
            key = "" if error else self._world.key(action)
            made = Candidate(
                action,
                candidate.thought or "",
                error,
                key,
                logprobs=candidate.logprobs,
                parts=candidate.parts,
                feedback=request.feedback,
                exchanges=tuple(call.exchanges),
            )
            return [made]

        log = self._episode.log  # which alone needs the digest of the question
        item = Item(name, "" if log is None else digest(prompt, call.sample_index), request.at.id)
        read = candidate_of if log is None else partial(candidate_of, value=log.get)
        return WorkUnit([item], "agent", call, work, candidate_record, read, is_guaranteed)

    def _verify(self, request: Verify, name: str) -> Answering:
        candidates = [
            one if _is_named(one) else self._named(one, f"{name}.own{place}")
            for place, one in enumerate(request.candidates)
        ]
        usable = [candidate for candidate in candidates if not candidate.error]
        verified: Iterator[Candidate] = iter(())
        if usable:
            verified = iter((yield from self._verified(request, usable, name=name)))
        results = [
            replace(candidate, verdict=Verdict(-math.inf, candidate.error)) if candidate.error else next(verified)
            for candidate in candidates
        ]
        for candidate in results:
            self.candidates[candidate.id] = candidate
        return results

    def _risks(self, action: Any, error: str = "") -> tuple[bool, bool]:
        """Return whether an action is terminal, and whether it is irreversible; an unusable answer is neither."""
        return (False, False) if error else self._world.risks(action)

    def _named(self, candidate: Candidate, name: str = "") -> Candidate:
        """Return a candidate with key, risks and id. One that the strategy made itself has none."""
        if _is_named(candidate):
            return candidate
        key = candidate.key if candidate.key or candidate.error else self._world.key(candidate.action)
        ends, lasts = self._risks(candidate.action, candidate.error)
        return replace(
            candidate,
            action=read_only(candidate.action),
            key=key,
            id=candidate.id or name,
            is_terminal=ends,
            is_irreversible=lasts,
        )

    def _verified(
        self, request: Verify, usable: list[Candidate], *, name: str
    ) -> Generator[list[WorkUnit], list[Result], list[Candidate]]:
        """Return the candidates with verdicts. A verifier that compares revises those that they have."""
        verifier, at = self._components.verifier, request.at
        if verifier is None:
            raise ContractError(
                "expected a verifier, as the strategy asks for verdicts, got none; name one: --verifier module:Class "
                "or judge:<model> (in Python verifier=...), or leave this strategy out"
            )
        new = [place for place, one in enumerate(usable) if one.verdict is None]
        places, n_new = range(len(usable)) if verifier.compares else new, len(new)
        if not places:
            return usable
        if n_new:
            self._spending.reserve("verifier", "verifications", n_new, item=name)
        if verifier.needs_preview or may_read_gold(verifier):
            try:
                asked = [usable[place] for place in places]
                previewed = yield from self._previewed(at, asked, f"{name}.preview", draw=request.draw)
            except BudgetExhausted:
                self._spending.refund("verifier", "verifications", n_new)
                raise
            for place, candidate in zip(places, previewed, strict=True):
                usable[place] = candidate
        asked = [usable[place] for place in places]
        is_apart = verifier.per_candidate and not verifier.compares
        groups = [[candidate] for candidate in asked] if is_apart else [asked]
        tasks = [self._verification(verifier, request, group, f"{name}.{place}") for place, group in enumerate(groups)]
        answers = [answer for result in (yield tasks) for answer in result]
        is_cut = False
        for place, answer in zip(places, answers, strict=True):
            if not isinstance(answer, Cut):
                critique, details = well_formed(answer.value.critique), read_only(answer.value.details)
                verdict = replace(answer.value, critique=critique, details=details)
                usable[place] = replace(usable[place], verdict=verdict)
                continue
            is_cut = True
            if usable[place].verdict is None:
                self._spending.refund("verifier", "verifications", limit=answer.axis)
            else:
                self._spending.refund("verifier", "verifications", 0, limit=answer.axis)
        if is_cut:
            # Verdicts before the cut were paid for, so the decision shows them. One that was asked for again and not
            # given leaves the first one there.
            self.candidates.update(
                (one.id, one) for one in usable if one.verdict is not None or one.id not in self.candidates
            )
            raise BudgetExhausted(self._spending.cut)
        return usable

    def _verification(self, verifier: LoadedVerifier, request: Verify, group: list[Candidate], name: str) -> WorkUnit:
        at = request.at
        prompt = digest("verify", at.id, at.notes, sorted(candidate.key for candidate in group), request.draw)
        call = self._episode.call(prompt)

        def work(recorded: Mapping[int, Any]) -> Sequence[Verdict]:
            # The verdicts that they have are no input: a set has the same verdicts however it grew.
            asked = [one if one.verdict is None else replace(one, verdict=None) for one in group]
            missing = [place for place in range(len(group)) if place not in recorded]
            if not verifier.compares:
                asked = [asked[place] for place in missing]
            if may_read_gold(verifier):
                asked = [
                    one if one.preview is None else replace(one, preview=self._golden(one.preview)) for one in asked
                ]
            with self._world.guard():
                verdicts = _verdicts_of(verifier, at, ReadOnlyList(asked), self._event_loop)
            return [verdicts[place] for place in missing] if verifier.compares else verdicts

        if self._episode.log is None:
            items = [Item("", "")] * len(group)
        else:
            items = [
                Item(
                    f"{name}.{place}",
                    digest(prompt, one.key, one.thought, call.sample_index),
                    one.id,
                    _about_verdict(verifier, one),
                )
                for place, one in enumerate(group)
            ]
        return WorkUnit(items, "verifier", call, work, verdict_record, verdict_of)

    def _golden(self, state: State) -> State:
        """Return a state with gold, only for components that are labelled `oracle`."""
        token = self._episode.token(state)
        with self._world.driving():
            return replace(state, gold=self._world.oracle(token))

    def _simulate(self, request: Simulate, name: str) -> Answering:
        candidate = self._named(request.candidate)
        if candidate.error:
            candidate = self.usable(request.at, candidate)
        (previewed,) = yield from self._previewed(request.at, [candidate], name, draw=request.draw)
        return previewed.preview

    def _previewed(
        self, at: State, candidates: list[Candidate], name: str, *, draw: int = 0
    ) -> Generator[list[WorkUnit], list[Result], list[Candidate]]:
        """Attach the simulated state to each candidate. Equal actions are simulated once."""
        new: dict[str, Candidate] = {}
        for candidate in candidates:
            if self._episode.known(at, candidate.key, draw) is None:
                new.setdefault(candidate.key, candidate)
        if new:
            self._spending.reserve(self._simulation_payer, "simulations", len(new), item=name)
            tasks = [
                self._simulation(at, candidate, draw, f"{name}.{place}") for place, candidate in enumerate(new.values())
            ]
            is_cut = False
            for candidate, (answer,) in zip(new.values(), (yield tasks), strict=True):
                if isinstance(answer, Cut):
                    self._spending.refund(self._simulation_payer, "simulations", limit=answer.axis)
                    is_cut = True
                else:
                    self._episode.after(at, candidate, draw, answer.value)
            if is_cut:
                raise BudgetExhausted(self._spending.cut)
        return [replace(candidate, preview=self._episode.known(at, candidate.key, draw)) for candidate in candidates]

    def _simulation(self, at: State, candidate: Candidate, draw: int, name: str) -> WorkUnit:
        question = digest("simulate", at.id, candidate.key, draw)
        log = self._episode.log

        def work(known: Mapping[int, Any]) -> list[Outcome]:
            with self._world.guard():
                return [self._simulator.simulate(self._world, self._episode.token(at), candidate.action, draw)]

        def record(outcome: Outcome) -> Mapping[str, Any]:
            if log is None:
                return {}
            state = next_id(at.id, candidate.key, draw, outcome.observation)
            picture = self._world.thumbnail(outcome.token) if self._simulator.is_perfect else None
            return {"state": state, **outcome_record(outcome, log, picture)}

        def read(line: Mapping[str, Any]) -> Outcome | None:
            return None if log is None else outcome_of(line, log)

        item = Item(name, question, candidate.id, {"at": at.id, "draw": draw} if log is not None else {})
        return WorkUnit([item], self._simulation_payer, self._episode.call(question), work, record, read)

    def _ask(self, request: Ask, name: str) -> Answering:
        roles, asked = component_for(self._components.roles, request.role), request.subject
        if may_read_gold(roles) and isinstance(asked, Candidate) and not asked.error:
            (asked,) = yield from self._previewed(request.at, [self._named(asked)], f"{name}.preview")
        self._spending.reserve(request.role, "asks", 1, item=name)
        prompt = digest("ask", request.role, request.at.id, request.at.notes, request.subject)
        call = self._episode.call(prompt)
        self.notes[f"{request.role} answered by {roles.source}"] = None

        def work(known: Mapping[int, Any]) -> list[str]:
            subject = read_only(asked)
            if may_read_gold(roles) and isinstance(asked, Candidate) and asked.preview is not None:
                subject = replace(asked, preview=self._golden(asked.preview))
            with self._world.guard():
                text = self._event_loop.result_of(roles.answer(request.role, request.at, subject))
            if not isinstance(text, str):
                raise ContractError(f"expected the {request.role}'s answer to be a text, got {text!r:.200}")
            return [text]

        def record(text: str) -> Mapping[str, Any]:
            label = {"information": roles.information} if may_read_gold(roles) else {}
            return {"kind": "text", "role": request.role, "text": text, "source": roles.source, **label}

        subjects = [one.id for one in leaves(request.subject) if isinstance(one, Candidate | State)]
        also = {"subject": subjects} if subjects else {}
        item = Item(f"{name}.0", digest(prompt, call.sample_index), request.at.id, also)
        ((answer,),) = yield [WorkUnit([item], request.role, call, work, record, lambda line: line["text"])]
        if isinstance(answer, Cut):
            self._spending.refund(request.role, "asks", limit=answer.axis)
            raise BudgetExhausted(answer.axis)
        said = well_formed(answer.value)
        self.role_answers.append(RoleAnswer(request.role, said, roles.source, request.at.id))
        return usable_answer(request, said, self.notes)

    def _keep(self, request: Keep, name: str) -> Answering:
        """Log a tree. A replay that grew the same one writes nothing."""
        self.trees.append(request.tree)
        log = self._episode.log
        if log is not None:
            record = tree_record(request.tree)
            item, question = f"{name}.0", digest("keep", dumps(record))
            if log.recorded(item, question) is None:
                log.write(AnswerLine(item, question, record))
        yield from ()  # it has no work, but answers are generators

    def to_commit(self, here: State, chosen: Candidate) -> Candidate:
        """Return the candidate to commit: the strategy's choice, or the best usable one if the choice has an error."""
        chosen = self.candidates.get(chosen.id, self._named(chosen))
        if not chosen.error:
            return chosen
        usable = [one for name, one in self.candidates.items() if name in self._here and not one.error]
        if usable:
            self.notes["the strategy committed no action: its best usable candidate was taken"] = None
            return max(usable, key=score)
        self.notes[FALLBACK] = None
        if not self._world.available(here.info):
            self.notes[UNLISTED] = None
        return self.usable(here, chosen)

    def usable(self, at: State, candidate: Candidate) -> Candidate:
        """Return a candidate with a legal action instead of an invalid one; its error is kept."""
        action = self._world.legal_action(at.info, self._episode.seed("legal", at.id))
        ends, lasts = self._risks(action)
        return replace(candidate, action=action, key=self._world.key(action), is_terminal=ends, is_irreversible=lasts)


def _is_named(candidate: Candidate) -> bool:
    return bool((candidate.key or candidate.error) and candidate.id)


def _about_verdict(verifier: LoadedVerifier, candidate: Candidate) -> Mapping[str, Any]:
    """Return what the log says of a verdict besides the verdict: what its score is of, and whether it is revised.

    An oracle's score is the reward where the candidate ends the episode, and the progress elsewhere.
    """
    ends = candidate.preview is not None and candidate.preview.done
    measure = ("reward" if ends else "progress") if may_read_gold(verifier) else "model"
    return {"of": measure} | ({} if candidate.verdict is None else {"revised": True})


def _verdicts_of(
    verifier: LoadedVerifier, at: State, candidates: Sequence[Candidate], event_loop: EventLoop
) -> list[Verdict]:
    """Return a verifier's verdicts. If the verifier fails, every score is -inf.

    Raises:
        ModelError: Its language model can't be used at all, because of a wrong key or an unknown model.
        ContractError: The number of verdicts differs from the number of candidates.
    """
    try:
        verdicts = list(event_loop.result_of(verifier.verify(at, candidates)))
    except Exception as error:
        kind = getattr(error, "kind", "crash")
        if isinstance(error, ModelError):  # one that every later call would have too ends the episode
            is_raised = kind in ("auth", "not_found")
        else:  # the guard of the environments marks its error with `breaks_contract`
            is_raised = isinstance(error, IADError) or getattr(error, "breaks_contract", False)
        if is_raised:
            raise
        failed = Verdict(
            -math.inf, f"verification failed: {error!r:.500}{place_of(error)}", details={"error_kind": kind}
        )
        return [failed] * len(candidates)
    if len(verdicts) != len(candidates):
        raise ContractError(
            f"expected {len(candidates)} verdicts from {type(verifier).__name__}, one per candidate, got "
            f"{len(verdicts)}; return a Verdict for each, in order"
        )
    return [_checked(verifier, verdict) for verdict in verdicts]


def _checked(verifier: LoadedVerifier, verdict: Any) -> Verdict:
    """Return a verdict with a score to compare and a text. Without a score it failed, and is counted so.

    Raises:
        ContractError: It is no verdict with a number and a text.
    """
    if not isinstance(verdict, Verdict):
        raise ContractError(
            f"expected a Verdict from {type(verifier).__name__} for each candidate, got {verdict!r:.200}; return "
            "Verdict(score, critique)"
        )
    _require_text(verifier, "a Verdict", "critique", verdict.critique)
    if type(verdict.details) is not dict and not isinstance(verdict.details, Mapping):  # the first is much faster
        raise ContractError(
            f"expected the details of a Verdict of {type(verifier).__name__} to be a mapping, got "
            f"{verdict.details!r:.200}; leave them out, or name each"
        )
    try:
        is_number = not math.isnan(verdict.score)
    except (TypeError, ValueError, OverflowError):
        raise ContractError(
            f"expected the score of a Verdict of {type(verifier).__name__} to be a number, got {verdict.score!r:.200}; "
            "return a float"
        ) from None
    if is_number:
        return verdict if verdict.critique is not None else replace(verdict, critique="")
    said = f"the score was not a number. {verdict.critique or ''}".strip()
    return replace(verdict, score=-math.inf, critique=said, details={**verdict.details, "error_kind": "malformed"})


def _require_text(author: object, kind: str, name: str, given: object) -> None:
    """Check a text of somebody else's component. None stands for no text."""
    if given is not None and not isinstance(given, str):
        raise ContractError(
            f"expected the {name} of {kind} of {type(author).__name__} to be a text, got {type(given).__name__} "
            f"{given!r:.200}; write str(...), or leave it out"
        )
