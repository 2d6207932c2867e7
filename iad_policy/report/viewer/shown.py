"""A run as the page shows it: plain JSON, with long texts and pictures once in a table of their own.

`run_json` is what the first look needs, `episodes_json` a part of the list of episodes, and `episode_json` the steps of
one. All have only what stands in the run folder.
"""

import base64
import inspect
import math
import re
import struct
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from iad_policy.ledger.episode import RecordedStep, RecordedTree
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run import DamagedEpisode, Run
from iad_policy.ledger.run_folder import SUMMARISED, SUMMARY
from iad_policy.models.tools import message_text
from iad_policy.report.metrics import SPENT, StrategySummary
from iad_policy.report.results import results_of
from iad_policy.report.statistics import N_RESAMPLES
from iad_policy.report.viewer.attempts import attempts_of
from iad_policy.run.config import RunConfig
from iad_policy.strategies import STRATEGIES, find_strategy
from iad_policy.types import FALLBACK, Candidate, State
from iad_policy.types.hashing import decode

_HEAD_KEYS = {
    *("env", "label", "information", "alarms", "baseline"),
    *("differences", "curves", "comparisons", "verifier_scores"),
}
_SUMMARY_KEYS = frozenset(one.name for one in fields(StrategySummary)) - {"spent"} | frozenset(SPENT)
"""Keys of a summary, and of a strategy's part of it, that the page shows."""


class ShownTable:
    """Long texts by number: each is kept once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._places: dict[str, int] = {}

    def put(self, text: str) -> Any:
        """Return the text, or a reference to it."""
        if len(text) < 80:  # a reference would hardly be shorter
            return text
        place = self._places.setdefault(text, len(self.texts))
        if place == len(self.texts):
            self.texts.append(text)
        return {"$": place}


def run_json(run: Run) -> dict[str, Any]:
    """Return the head of the page: what was run, the table, the differences, and the curves.

    The figures of a run that ended are those of its summary. Those of any other are computed.
    """
    rows = results_of(run.config, []).rows
    figures = run.summary
    strategies = figures.get("strategies")
    if not (  # has the summary all that the page shows, with the rows and the baseline of the configuration?
        isinstance(strategies, dict)
        and list(strategies) == list(rows.values())
        and all(isinstance(one, dict) and one.keys() >= _SUMMARY_KEYS for one in strategies.values())
        and figures.keys() >= _HEAD_KEYS
        and figures["baseline"] == RunConfig.of(run.config).baseline_name
    ):
        results = results_of(run.config, list(run.records.values()))
        # The page of a run that goes on is drawn again and again. A complete run has the table's own figures.
        n_resamples = N_RESAMPLES if (run.folder / SUMMARY).exists() else 2000
        figures = results.as_json(results.figures(n_resamples))
    rules = {}
    for arm, label in rows.items():  # what a strategy of ours commits, in a line; the user's own code is not run here
        rule = inspect.getdoc(find_strategy(arm.strategy)) if arm.strategy in STRATEGIES else ""
        rules[label] = (rule or "").partition("\n")[0]
    head: dict[str, Any] = _finite(
        {
            **{name: value for name, value in figures.items() if name != SUMMARISED},
            "name": run.folder.resolve().name,
            "iad_version": run.config.get("iad_version", ""),
            "notes": [str(note) for note in run.config.get("notes") or ()],
            "labels": list(rows.values()),
            "rules": rules,
            "n_recorded": len(run.episodes),
        }
    )
    return head


def episodes_json(run: Run, start: int = 0, n: int | None = None) -> dict[str, Any]:
    """Return the lines of some episodes in the list, by task and seed, with the instructions of their tasks.

    Args:
        run: The run.
        start: Place of the first of them.
        n: Number of episodes; by default all that are left.

    Returns:
        `lines`, `instructions` by task, and `next`, the place where to go on, or None.
    """
    keys = run.episodes.in_order
    end = len(keys) if n is None else min(len(keys), start + n)
    rows = {arm: place for place, arm in enumerate(results_of(run.config, []).rows)}
    records = [one for one in run.episodes.records(keys[start:end]) if one.arm in rows]
    lines = [_episode_line(one, rows[one.arm]) for one in records]
    return {
        "lines": sorted(lines, key=lambda one: (_natural(one["task"]), one["seed"], one["row"])),
        "instructions": {one.task_id: one.instruction[:300] for one in records if one.instruction},
        "next": end if end < len(keys) else None,
    }


def _natural(name: str) -> list[str | int]:
    """Return what sorts task-2 before task-10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def episode_line(run: Run, key: str) -> dict[str, Any] | None:
    """Return the line of an episode in the list; None where the run has no such episode, yet."""
    rows = {arm: place for place, arm in enumerate(results_of(run.config, []).rows)}
    for record in run.episodes.records([key]):
        return _episode_line(record, rows[record.arm]) if record.arm in rows else None
    return None


def _episode_line(record: EpisodeRecord, row: int) -> dict[str, Any]:
    spent = record.spent
    return {
        "key": record.key,
        "row": row,
        "task": record.task_id,
        "seed": record.seed,
        **{name: getattr(record, name) for name in ("success", "progress", "reward", "n_steps", "difficulty")},
        "stop": record.stop_reason,
        **{name: getattr(record, name) for name in ("cut", "error_kind", "error", "why")},
        "calls": spent.proposals + spent.verifications + spent.asks,
        "tokens": spent.tokens,
        "is_scored": record.is_scored,
    }


def episode_json(run: Run, key: str, table: ShownTable) -> dict[str, Any]:
    """Return one episode's steps, or why it is damaged.

    Args:
        run: The run.
        key: The episode's.
        table: Takes long texts and pictures.

    Raises:
        KeyError: The run has no such episode, yet.
    """
    try:
        with run.reading(key) as episode:
            first = episode.steps[0].before if episode.steps else None
            instruction = table.put("" if first is None else str(first.info.get("instruction", "")))
            steps = [_step(step, run, table) for step in episode.steps]
            record = episode.record
            shown = {"key": record.key, "instruction": instruction, "steps": steps, "traceback": record.traceback}
            finite: dict[str, Any] = _finite(shown)
            return finite
    except DamagedEpisode as damaged:
        return {"key": key, "damaged": str(damaged)}


def _step(step: RecordedStep, run: Run, table: ShownTable) -> dict[str, Any]:
    decision = step.decision
    trees = {"trees": [_tree(one, table) for one in step.trees]} if step.trees else {}
    attempts = [
        {
            "ids": [one.id for one in attempt.candidates],
            "over": attempt.is_over,
            "passed": attempt.has_passed,
            "evaluation": table.put(attempt.evaluation),
        }
        for attempt in ([] if step.trees else attempts_of(decision))
    ]
    here = [one for one in decision.candidates if one.at in ("", decision.state.id) and not one.error]
    votes = Counter(map(_vote, here))
    return {
        **trees,
        **({"attempts": attempts} if attempts else {}),
        "index": step.index,
        "before": _state(step.before, run, table),
        "candidates": [_candidate(one, step, run, table) for one in decision.candidates],
        "votes": {one.id: votes[_vote(one)] for one in here},
        "asked": [
            {"role": one.role, "text": table.put(one.text), "source": one.source} for one in decision.role_answers
        ],
        "committed": decision.committed.id,
        "action": None if step.action is None else table.put(_text(step.action)),
        "cut": decision.cut,
        "is_fallback": FALLBACK in decision.notes,
        "reward": step.reward,
        "after": _state(step.after, run, table),
    }


def _vote(one: Candidate) -> str:
    """Return what a candidate votes for: the text that it leads to, or else its action."""
    seen = one.preview.observation if one.preview is not None and not one.preview.done else None
    return f"seen {seen}" if isinstance(seen, str) else f"key {one.key}"


def _tree(tree: RecordedTree, table: ShownTable) -> list[dict[str, Any]]:
    """Return the nodes of a search tree, the root first: what was considered there, and what a rollout ended with."""
    return [
        {
            "edges": [
                {
                    "id": edge["candidate"],
                    "action": table.put(_text(tree.candidates[edge["candidate"]].action)),
                    "rank": edge["rank"],
                    "n": edge["n"],
                    "q": decode(edge["q"]),
                    "score": tree.candidates[edge["candidate"]].score,
                    "to": list(dict.fromkeys(edge.get("draws", ()))),
                }
                for edge in node.get("edges", ())
            ],
            **({"ended": decode(node["ended"])} if "ended" in node else {}),
        }
        for node in tree.record["nodes"]
    ]


def _candidate(one: Candidate, step: RecordedStep, run: Run, table: ShownTable) -> dict[str, Any]:
    is_action = one.action is not None or not one.error
    shown: dict[str, Any] = {"id": one.id, "action": table.put(_text(one.action) if is_action else "")}
    here = step.decision.state.id
    if one.at and here and one.at != here:
        shown["ahead"] = True
    feedback = "" if one.feedback is None else one.feedback.text
    for name, text in (("thought", one.thought), ("error", one.error), ("feedback", feedback)):
        if text:
            shown[name] = table.put(text)
    if one.verdict is not None:
        verdict = one.verdict
        shown["verdict"] = {
            "score": verdict.score,
            "critique": table.put(verdict.critique),
            "passed": verdict.passed,
            "details": {str(name): _text(value) for name, value in verdict.details.items()},
        }
    if one.preview is not None:
        shown["preview"] = _state(one.preview, run, table)
    if one.exchanges:
        shown["exchanges"] = [  # questions to a model as they were sent, and the answers as they were sampled
            {
                "prompt": [{"role": said["role"], "text": table.put(message_text(said))} for said in exchange.prompt],
                "answer": table.put(exchange.text),
                "finish": exchange.finish,
                "sampling": ", ".join(f"{name} = {value}" for name, value in exchange.sampling.items()),
                "cached_tokens": exchange.cached_tokens,
            }
            for exchange in one.exchanges
        ]
    silent = ("proposals", "seconds", "n_unmetered")  # these axes say nothing of a candidate
    spent = {axis: value for axis, value in one.usage.as_dict().items() if axis not in silent}
    if spent:
        shown["spent"] = spent
    return shown


def _state(state: State | None, run: Run, table: ShownTable) -> dict[str, Any] | None:
    if state is None:
        return None
    parts = state.observation if isinstance(state.observation, dict) else {"": state.observation}
    shown: dict[str, Any] = {
        "parts": {name: _part(value, table) for name, value in parts.items()},
        "info": {
            name: table.put(_text(value))
            for name, value in state.info.items()
            # The page shows these elsewhere, or they repeat the observation.
            if name not in {"task_id", "instruction", "available_actions", "step", "page"}
            and not (value is None or value is False or (isinstance(value, str | tuple | list | dict) and not value))
        },
        "done": state.done,
    }
    page = state.info.get("page")
    if isinstance(page, Mapping):
        said = [one for one in page.get("messages") or () if "content" in one]  # last in a conversation
        if said:
            shown["said"] = [[str(one["role"]).capitalize(), table.put(str(one["content"]))] for one in said]
        calls = []
        for call, result in zip(page.get("calls") or (), page.get("results") or (), strict=False):
            given = ", ".join(f"{name}={value!r}" for name, value in call["arguments"].items())
            calls.append([table.put(f"{call['name']}({given})"), table.put(str(result))])
        if calls:
            shown["calls"] = calls
            shown["changed"] = table.put(", ".join((state.info.get("facts") or {}).get("changed", ())))
    picture = run.picture(state.thumbnail)
    if picture:
        shown["picture"] = table.put(_data_uri(picture))
    return shown


def _part(value: Any, table: ShownTable) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype == np.uint8 and value.ndim == 3 and value.shape[2] == 3:
            return {"picture": table.put(_data_uri(png_of(value)))}
        return table.put(np.array2string(value, threshold=50))
    return table.put(_text(value))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value.item() if isinstance(value, np.generic) else value)


def _finite(value: Any) -> Any:
    """Return the value with what JSON has no number for as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return value


def _data_uri(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def png_of(picture: np.ndarray) -> bytes:
    """Return a picture (height, width, 3; uint8) as PNG, every k-th pixel of one that is larger than the page needs.

    It is written by hand, as neither Pillow nor OpenCV is a dependency, and a report is the same with and without them.
    """
    stride = max(1, math.ceil(max(picture.shape[:2]) / 384))
    small = np.ascontiguousarray(picture[::stride, ::stride])
    height, width = small.shape[:2]
    rows = np.concatenate([np.zeros((height, 1), np.uint8), small.reshape(height, width * 3)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(rows.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
