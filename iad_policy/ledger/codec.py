"""How each kind of answer is written to the log and read back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from iad_policy.ledger.answer_log import EpisodeLog
from iad_policy.types import NOTHING, Candidate, Exchange, Feedback, Outcome, Part, State, Usage, Verdict
from iad_policy.types.hashing import decode, encode

ONE_PROPOSAL = Usage(proposals=1)
"""What a candidate costs beyond what its line says."""


def candidate_record(candidate: Candidate) -> dict[str, Any]:
    """Return the log's form of a proposed candidate."""
    record: dict[str, Any] = {"kind": "candidate", "action": encode(candidate.action), "key": candidate.key}
    if candidate.thought:
        record["thought"] = candidate.thought
    if candidate.error:
        record["error"] = candidate.error
    if candidate.logprobs is not None:
        record["logprobs"] = encode(list(candidate.logprobs))
    if candidate.parts:
        record["parts"] = [encode(list(part)) for part in candidate.parts]
    if candidate.feedback is not None:
        record["feedback"] = candidate.feedback.text
    return record


def candidate_of(
    record: Mapping[str, Any],
    verdict: Verdict | None = None,
    preview: State | None = None,
    *,
    value: Callable[[Any], Any] = decode,
) -> Candidate:
    """Return the candidate of a record; of its feedback only the text was kept.

    Args:
        record: A line of the log, or what `candidate_record` returned.
        verdict: The last verdict on it, which has a line of its own.
        preview: What it leads to in a simulation, which has a line of its own, too.
        value: Returns a logged value; a long one is read from its blob.
    """
    action, usage = record["action"], record.get("usage")
    logprobs, feedback = record.get("logprobs"), record.get("feedback")
    return Candidate(
        action if type(action) is str else decode(action),
        _text(record, "thought"),
        _text(record, "error"),
        record["key"],
        _proposing(usage) if usage else ONE_PROPOSAL,
        None if logprobs is None else tuple(decode(logprobs)),
        tuple([Part(*decode(part)) for part in record["parts"]]) if "parts" in record else (),
        None if feedback is None else Feedback(feedback),
        preview,
        verdict,
        record.get("item", ""),
        at=record.get("about", ""),
        exchanges=tuple([exchange_of(one, value) for one in record["exchanges"]]) if "exchanges" in record else (),
    )


def _text(record: Mapping[str, Any], name: str) -> str:
    """Return a text of a record; version 0.1 took what was no text, too."""
    given = record.get(name, "")
    return given if type(given) is str else str(given)


def exchange_record(exchange: Exchange, log: EpisodeLog) -> dict[str, Any]:
    """Return the log's form of a question to a language model. Long texts of its messages are kept in blobs."""
    record: dict[str, Any] = {
        "prompt": [_kept(message, log) for message in exchange.prompt],
        "text": exchange.text,
        "finish": exchange.finish,
    }
    if exchange.sampling:
        record["sampling"] = {name: encode(value) for name, value in exchange.sampling.items()}
    if exchange.logprob_kind:
        record["logprob_kind"] = exchange.logprob_kind
    if exchange.cached_tokens is not None:
        record["cached_tokens"] = exchange.cached_tokens
    return record


def exchange_of(record: Mapping[str, Any], value: Callable[[Any], Any]) -> Exchange:
    """Return the exchange of a record.

    Args:
        record: One of the `exchanges` of a line.
        value: Returns a logged value; a long one is read from its blob.
    """
    return Exchange(
        RecordedPrompt(record["prompt"], value),
        record["text"],
        record["finish"],
        {name: decode(part) for name, part in record.get("sampling", {}).items()},
        record.get("logprob_kind", ""),
        record.get("cached_tokens"),
    )


class RecordedPrompt(Sequence[Mapping[str, Any]]):
    """The messages of a recorded prompt. They are read when they are looked at, as most never are."""

    __slots__ = ("_messages", "_value")

    def __init__(self, messages: Sequence[Mapping[str, Any]], value: Callable[[Any], Any]) -> None:
        self._messages = messages
        self._value = value

    def __len__(self) -> int:
        return len(self._messages)

    @overload
    def __getitem__(self, place: int) -> Mapping[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Mapping[str, Any]]: ...

    def __getitem__(self, place: int | slice) -> Any:
        return _read(self._messages[place], self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(len(self))


def _kept(content: Any, log: EpisodeLog) -> Any:
    if isinstance(content, Mapping):
        return {name: _kept_tools(part, log) if name == "tools" else _kept(part, log) for name, part in content.items()}
    if isinstance(content, list | tuple):
        return [_kept(part, log) for part in content]
    return log.put(content)


def _kept_tools(content: Any, log: EpisodeLog) -> Any:
    """Return the log's form of the functions that a model is offered, which are the same in many prompts."""
    whole = log.put_list(content) if isinstance(content, list | tuple) else None
    return whole if isinstance(whole, dict) and "__blob__" in whole else _kept(content, log)


def _read(content: Any, value: Callable[[Any], Any]) -> Any:
    if isinstance(content, Mapping) and "__blob__" not in content:
        return {name: _read(part, value) for name, part in content.items()}
    if isinstance(content, list):
        return [_read(part, value) for part in content]
    return value(content)


def _proposing(usage: Mapping[str, Any]) -> Usage:
    """Return what a proposal cost, itself included."""
    # Mostly the line has what was measured alone, and a sum takes longer than all else about a candidate.
    return ONE_PROPOSAL + Usage(**usage) if "proposals" in usage else Usage(1, **usage)


def place_of(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return the state that a recorded candidate is for, and its action's key: what a simulation is known by."""
    return record.get("about", ""), record["key"]


def verdict_record(verdict: Verdict) -> dict[str, Any]:
    """Return the log's form of a verdict."""
    record: dict[str, Any] = {"kind": "verdict", "score": encode(float(verdict.score))}
    if verdict.critique:
        record["critique"] = verdict.critique
    if verdict.passed is not None:
        record["passed"] = verdict.passed
    if verdict.details:
        record["details"] = encode(dict(verdict.details))
    return record


def verdict_of(record: Mapping[str, Any]) -> Verdict:
    """Return the verdict of a record."""
    return Verdict(
        decode(record["score"]),
        _text(record, "critique"),
        record.get("passed"),
        decode(record["details"]) if "details" in record else {},
    )


def outcome_record(outcome: Outcome, log: EpisodeLog, thumbnail: bytes | None = None) -> dict[str, Any]:
    """Return the log's form of a simulated outcome, without its token; a picture of it is kept in a file of its own."""
    picture = {} if thumbnail is None else {"thumbnail": log.put_picture(thumbnail)}
    failure = {"failure": outcome.failure} if outcome.failure else {}
    return {
        "kind": "outcome",
        "observation": put_observation(outcome.observation, log),
        "info": {key: put_info(value, log) for key, value in outcome.info.items()},
        "done": bool(outcome.done),
        "key": outcome.key,
        "changed": bool(outcome.changed),
        **failure,
        **picture,
    }


def outcome_of(record: Mapping[str, Any], log: EpisodeLog) -> Outcome:
    """Return the outcome of a record; its token is None: the driver simulates again if it needs one.

    What older records don't say has the defaults of `Outcome`.
    """
    info = {key: log.get(value) for key, value in record["info"].items()}
    seen, failure = log.get(record["observation"]), record.get("failure", "")
    return Outcome(None, seen, info, record["done"], record["key"], failure, record.get("changed", True))


def put_info(value: Any, log: EpisodeLog) -> Any:
    """Return the log's form of a public value. Long lists and texts in it are blobs: later pages mostly have them."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        return log.put(value)
    parts = {
        key: log.put_list(part) if isinstance(part, list | tuple) else log.put(part) for key, part in value.items()
    }
    has_blob = any(isinstance(part, dict) and "__blob__" in part for part in parts.values())
    return {"__parts__": parts} if has_blob else {"__map__": [[key, part] for key, part in parts.items()]}


def put_observation(observation: Any, log: EpisodeLog) -> Any:
    """Return the log's form of an observation; the parts of a Dict observation are kept one by one."""
    if isinstance(observation, dict):
        return {"__parts__": {str(key): log.put(part) for key, part in observation.items()}}
    return log.put(observation)


def usage_of(record: Mapping[str, Any]) -> Usage:
    """Return what a recorded answer cost."""
    usage = record.get("usage")
    return Usage(**usage) if usage else NOTHING
