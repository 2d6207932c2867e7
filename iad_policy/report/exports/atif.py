"""Episodes as documents of ATIF, the format of trajectories that Harbor and others read: a file for each.

The fields are those of version 1.7 (harbor-framework/harbor, rfcs/0001-trajectory-format.md). A step of ATIF has what
was done. What else a decision had is in the step's `extra`, under `iad`: every candidate with its verdict, what it
cost, and who rejected it. `read_steps` reads all of it back.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from iad_policy.ledger.codec import candidate_of, candidate_record, verdict_of, verdict_record
from iad_policy.ledger.episode import UNFINISHED, Episode, RecordedStep
from iad_policy.report.exports.decisions import text_of
from iad_policy.report.exports.examples import score_of
from iad_policy.report.exports.packing import Packed
from iad_policy.report.exports.tables import ExportTable, Row, Source
from iad_policy.report.other_logs.atif import OURS, VERSION
from iad_policy.report.other_logs.shared import NOT_ONE, checked
from iad_policy.report.samples import SETUP, setup_of
from iad_policy.types import Candidate, Decision, RoleAnswer, State, Usage
from iad_policy.types.hashing import decode, encode

ACT = "step"
"""The function that an action calls: that of the environment, which has no other."""
OF_STEP: Row = {"index": int, "candidates": list, "state": str, "committed": str, "usage": dict}
FIELDS: Row = {
    "steps": [{"source": str, "tool_calls?": list, "observation?": {"results?": list}, "extra?": {f"{OURS}?": dict}}],
    "extra?": {f"{OURS}?": dict},
}
"""What is read back of a document, and of what is ours in a step: see `checked`."""
NOTES = (
    "A step of the agent is one decision. Its extra.iad has all candidates, with verdicts, costs and who rejected "
    "them: the verifier's score, the strategy (a vote, a search), or the format, as the answer was no action. Its "
    "metrics are those of the whole decision, verifiers and roles included."
)


def write_documents(folder: Path, sources: Sequence[Source], packed: Packed) -> dict[Path, int]:
    """Write a file per episode, `RUN/NUMBER-KEY.json`; returns the folder with their number.

    Raises:
        ValueError: Two runs have folders of one name.
    """
    names = [source.name for source in sources]
    if len(set(names)) < len(names):
        raise ValueError(f"expected runs whose folders have different names, got {', '.join(names)}; rename one")
    for name in names:
        (folder / name).mkdir()
    n_written = 0
    for (pack,) in filter(None, packed([DOCUMENTS])):
        for line in pack.content.splitlines():
            document = json.loads(line)
            n_written += 1
            name = f"{n_written:05}-{document['trajectory_id']}.json"
            (folder / document["extra"][OURS]["run"] / name).write_bytes(line + b"\n")
    return {folder: n_written} if n_written else {}


def read_steps(path: str | Path) -> tuple[RecordedStep, ...]:
    """Return the decisions of a file that `iad export --to atif` wrote, with all candidates, verdicts and costs.

    States have their text and their id, and previews are left out: ATIF has texts only.

    Raises:
        ValueError: It is no such file. The message names the field.
        OSError: It can't be read.
    """
    try:
        content = checked(json.loads(Path(path).read_bytes()), FIELDS)
        if not content["extra"][OURS]:
            raise ValueError(f"expected an object in extra.{OURS}, got none; only what iad exported has candidates")
        return tuple(_steps(content["steps"]))
    except NOT_ONE as error:
        raise ValueError(f"{path}: {error}") from error


def _document(source: Source, episode: Episode) -> Iterator[Row]:
    record, steps = episode.record, episode.steps
    head = source.head(record)
    known = {"version": source.run.config.get("iad_version") or "unknown"}
    asked = (each for step in steps for one in step.decision.candidates for each in one.exchanges)
    if model := next((str(each.sampling.get("model", "")) for each in asked), ""):
        known["model_name"] = model
    about = ("agent", "strategy", "n", "verifier", "information", "agent_information", "role_information")
    acting = {**{name: head[name] for name in about}, SETUP: setup_of(source.run.config, record.arm)}
    first = steps[0].before if steps else None
    instruction = record.instruction or ("" if first is None else str(first.info.get("instruction", "")))
    messages: list[Row] = [{"source": "user", "message": instruction}]
    if first is not None:
        seen = {"results": [{"content": text_of(first)}]}
        messages.append({"source": "system", "message": "", "observation": seen})
    messages += [_step(step) for step in steps]
    # Without what may quote the answer, and the paths of this machine.
    shareable = {name: value for name, value in record.as_json().items() if name not in ("why", "traceback")}
    yield {
        "schema_version": VERSION,
        "session_id": record.key,
        "trajectory_id": record.key,
        "agent": {"name": record.strategy, **known, "extra": acting},
        "steps": [{"step_id": number, **message} for number, message in enumerate(messages, 1)],
        "notes": NOTES,
        "final_metrics": {
            **{f"total_{name}": value for name, value in _metrics(record.spent).items()},
            "total_steps": len(messages),
            "extra": {name: getattr(record, name) for name in ("success", "progress", "reward")},
        },
        "extra": {OURS: {**head, "record": shareable}},
    }


def _step(step: RecordedStep) -> Row:
    decision, committed = step.decision, step.decision.committed
    said = committed.exchanges[-1].text if committed.exchanges else committed.thought
    found: Row = {"source": "agent", "message": said}
    if committed.exchanges and committed.thought:
        found["reasoning_content"] = committed.thought
    if step.is_finished:
        call = f"call_{step.index}"
        found["tool_calls"] = [
            {"tool_call_id": call, "function_name": ACT, "arguments": {"action": encode(step.action)}}
        ]
        if step.after is not None:
            found["observation"] = {"results": [{"source_call_id": call, "content": text_of(step.after)}]}
    if metrics := _metrics(decision.usage):
        found["metrics"] = metrics
    own = {
        "index": step.index,
        "state": "" if step.before is None else step.before.id,
        "reward": step.reward,
        "done": step.after is not None and step.after.done,
        "committed": committed.id,
        "cut": decision.cut,
        "notes": list(decision.notes),
        "usage": {role: usage.as_dict() for role, usage in decision.budget.items()},
        "candidates": [_candidate(one, committed) for one in decision.candidates],
        "asked": [one._asdict() for one in decision.role_answers],
    }
    return {**found, "extra": {OURS: own}}


def _metrics(usage: Usage) -> dict[str, Any]:
    """Return tokens and dollars where they are known; nothing where no model was asked."""
    if usage.n_unmetered or not usage.tokens:
        return {}
    found: dict[str, Any] = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
    return found if usage.n_unpriced else {**found, "cost_usd": usage.usd}


def _candidate(one: Candidate, committed: Candidate) -> Row:
    """Return a candidate as the log has it, with its verdict, its costs and who rejected it."""
    verdict = None
    if one.verdict is not None:
        details = {str(name): encode(part) for name, part in one.verdict.details.items()}
        verdict = {**verdict_record(one.verdict), "details": details}
    return {
        "id": one.id,
        "at": one.at,
        **candidate_record(one),
        "rejected_by": _rejected_by(one, committed),
        "verdict": verdict,
        "usage": one.usage.as_dict(),
        "preview": None if one.preview is None else text_of(one.preview),
        "exchanges": [
            {
                **exchange._asdict(),
                "prompt": list(exchange.prompt),
                "sampling": {name: encode(value) for name, value in exchange.sampling.items()},
            }
            for exchange in one.exchanges
        ],
    }


def _rejected_by(one: Candidate, committed: Candidate) -> str | None:
    """Return who rejected a candidate, in the words of preferences; None for what was committed, or is equal to it."""
    if one.id == committed.id or (not one.error and one.key == committed.key):
        return None
    if one.error:
        return "format"
    mine, best = score_of(one), score_of(committed)
    return "verifier" if mine is not None and best is not None and mine < best else "strategy"


def _steps(steps: Sequence[Row]) -> Iterator[RecordedStep]:
    known: dict[str, Candidate] = {}
    seen = ""
    for place, step in enumerate(steps):
        results = step["observation"]["results"]
        if step["source"] != "agent":
            seen = results[0].get("content", seen) if results else seen
            continue
        where = f"steps[{place}].extra.{OURS}"
        own = checked(step["extra"][OURS], OF_STEP, where)
        made = [_candidate_of(one, f"{where}.candidates[{n}]") for n, one in enumerate(own["candidates"])]
        known |= {one.id: one for one in made}
        committed, action = UNFINISHED, None
        if step["tool_calls"]:
            action, name = decode(step["tool_calls"][0]["arguments"]["action"]), own["committed"]
            committed = known.get(name) or Candidate(action, id=name)
            if committed.error:
                committed = replace(committed, action=action)
        decision = Decision(
            State(seen, {}, id=own["state"]),
            tuple(made),
            committed,
            {role: Usage(**axes) for role, axes in own["usage"].items()},
            own.get("cut", ""),
            tuple(own.get("notes", ())),
            tuple(RoleAnswer(**one) for one in own.get("asked", ())),
        )
        after = None
        if results:
            seen = results[0].get("content", "")
            after = State(seen, {}, done=bool(own.get("done")))
        yield RecordedStep(own["index"], decision, action, after, own.get("reward", 0.0))


def _candidate_of(one: Row, where: str) -> Candidate:
    try:
        verdict = said = one["verdict"]
        if said is not None:
            details = {name: decode(part) for name, part in said["details"].items()}
            verdict = replace(verdict_of({**said, "details": None}), details=details)
        line = {**one, "item": one["id"], "about": one["at"]}
        return replace(candidate_of(line, verdict, value=lambda part: part), usage=Usage(**one["usage"]))
    except NOT_ONE as error:
        raise ValueError(f"expected a candidate in the field {where}, got {type(error).__name__}: {error}") from error


DOCUMENTS = ExportTable({}, _document, is_scored_only=False)
