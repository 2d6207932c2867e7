"""Reads run folders of verifiers (`vf-eval`) without the package. Written against its version 0.4.0.

`traces.jsonl` has one line per rollout, an *episode*, with a trace for each agent that took part. Folders of 0.1
(written against 0.1.14) have `results.jsonl` and `metadata.json` instead, and one agent per rollout.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from iad_policy.ledger.episode_record import number
from iad_policy.report.other_logs.shared import NOT_ONE, named_apart, objects, short_settings
from iad_policy.report.samples import Samples, SampleScore, TaskSample, error_kind, task_content

REWARD = "reward"
"""The weighted sum of a rollout's rewards, by which verifiers itself compares."""
TRACES, RESULTS, METADATA = "traces.jsonl", "results.jsonl", "metadata.json"


class LoggedEpisode(NamedTuple):
    """A line of `traces.jsonl`.

    Attributes:
        samples: Agent -> a sample for each of its traces.
        parts: Agent -> what it is made of.
        rewarded: The agents with a reward.
        failure: The sample of an agent without a trace, if the episode failed.
    """

    samples: Mapping[str, Sequence[TaskSample]]
    parts: Mapping[str, Mapping[str, str]]
    rewarded: Sequence[str]
    failure: TaskSample | None


def read(paths: Sequence[Path]) -> Samples:
    """Read runs: their folders, or folders with any number of them. Rollouts of a task are its samples.

    A run is an arm. In a run with several agents that are rewarded, each of them is one.
    """
    found = Samples(score=REWARD)
    files: dict[Path, Path] = {}
    for path in paths:
        own = [path]
        if path.is_dir():
            own = sorted([*path.rglob(TRACES), *(one.with_name(RESULTS) for one in path.rglob(METADATA))])
        if not own:
            found.problems.append(f"{path}: expected a run folder of verifiers, got one without {TRACES} or {RESULTS}")
        for file in own:
            if file.exists():
                files.setdefault(file.resolve(), file)
    agents = [agent for file in files.values() for agent in _agents(file, found.problems)]
    main = ("model", "env", "harness", "agent")  # what runs mostly differ in
    for name, (parts, samples) in zip(named_apart([parts for parts, _ in agents], main), agents, strict=True):
        found.parts[name] = parts
        numbers = defaultdict[str, Iterator[int]](lambda: count(1))
        found.samples += [replace(one, arm=name, sample=str(next(numbers[one.content]))) for one in samples]
    return found


def _agents(file: Path, problems: list[str]) -> Iterator[tuple[Mapping[str, str], Sequence[TaskSample]]]:
    """Yield the parts and the samples of each agent that is rewarded. Judges and users mostly are not."""
    where = {"file": file.parent.name, "path": str(file)}
    if file.name == RESULTS:
        yield {**_metadata(file, problems), **where}, _parsed(file, _result, problems)
        return
    episodes: list[LoggedEpisode] = _parsed(file, _episode, problems)
    parts = {name: parts for episode in reversed(episodes) for name, parts in episode.parts.items()}
    rewarded = [name for episode in episodes for name in episode.rewarded]
    for name in dict.fromkeys(rewarded or parts or ["agent"]):
        samples: list[TaskSample] = []
        for episode in episodes:
            samples += episode.samples.get(name) or ([episode.failure] if episode.failure else [])
        yield {**parts.get(name, {"model": file.parent.name}), **where}, samples


def _parsed(file: Path, parse: Callable[[dict[str, Any]], Any], problems: list[str]) -> list[Any]:
    parsed = []
    for line, content in objects(file, problems):
        try:
            parsed.append(parse(content))
        except NOT_ONE as error:
            problems.append(
                f"{file}, line {line}: expected a rollout of verifiers, got {type(error).__name__}: {error!s:.100}"
            )
    if not parsed:
        problems.append(f"{file}: expected rollouts of verifiers, got none")
    return parsed


def _episode(line: Mapping[str, Any]) -> LoggedEpisode:
    data, env = line["task"]["data"], line["env"]["id"]
    task = next((str(data[name]) for name in ("id", "name", "idx") if data.get(name) is not None), line["task"]["key"])
    said = data.get("prompt") or env.rpartition("+")[2]  # of `best-of-n+sums` the tasks are those of `sums`
    whole = TaskSample(task, arm="", sample="", scores={}, content=task_content(task, said))
    errors = [error["type"] for error in line.get("errors", ())]
    failed = replace(whole, error=errors[-1] if errors else "error") if not line["ok"] else None
    samples: dict[str, list[TaskSample]] = {}
    parts: dict[str, Mapping[str, str]] = {}
    rewarded = []
    for trace in line["traces"]:
        name, config = trace["agent"]["name"], trace["agent"]["config"]
        about = {"model": config.get("model") or "", "env": env, "harness": (config.get("harness") or {}).get("id", "")}
        settings = [config.get("sampling"), {k: v for k, v in config.items() if k.startswith("max_")}]
        parts[name] = {**short_settings(settings), **about, "agent": name}
        samples.setdefault(name, []).append(_traced(whole, trace, errors[-1] if errors and failed else ""))
        rewarded += [name] if trace.get("rewards") else []
    return LoggedEpisode(samples, parts, rewarded, failed)


def _traced(whole: TaskSample, trace: Mapping[str, Any], failure: str) -> TaskSample:
    errors = [error["type"] for error in trace.get("errors", ())]
    own = "" if trace["ok"] else errors[-1] if errors else trace.get("stop_condition") or "error"
    usage = [call["usage"] for call in trace.get("calls", ()) if call.get("usage")] + trace.get("extra_usage", [])
    prices = [one.get("cost") for one in usage]
    kinds = ("prompt_tokens", "cached_input_tokens", "completion_tokens")
    span, rewards = trace["timing"]["agent"], trace.get("rewards") or {}
    known = {name: reward for name, reward in rewards.items() if reward is not None}
    scores = {name: SampleScore(number(value)) for name, value in (trace.get("metrics") or {}).items()}
    scores |= {name: SampleScore(number(reward["score"])) for name, reward in known.items()}
    if rewards and len(known) == len(rewards):  # where a part was not scored, there is no reward either
        total = sum(reward["score"] * reward.get("weight", 1.0) for reward in known.values())
        scores[REWARD] = SampleScore(number(total))
    return replace(
        whole,
        scores=scores,
        error=own or failure,
        tokens=float(sum(one.get(kind) or 0 for one in usage for kind in kinds)) if usage else None,
        usd=sum(prices) if prices and None not in prices else None,
        seconds=max(0.0, span["end"] - span["start"]),
    )


def _metadata(file: Path, problems: list[str]) -> dict[str, str]:
    try:
        about = json.loads(file.with_name(METADATA).read_bytes())
        main = {"model": str(about["model"]), "env": str(about["env_id"])}
        return {**short_settings([about.get("env_args"), about.get("sampling_args")]), **main}
    except (OSError, *NOT_ONE) as error:
        problems.append(f"{file.with_name(METADATA)}: {type(error).__name__}: {error!s:.100}; the model is not known")
        return {"model": file.parent.name}


def _result(line: Mapping[str, Any]) -> TaskSample:
    task, failure = str(line["example_id"]), line.get("error")
    usage = line.get("token_usage") or {}
    scores = {name: SampleScore(number(value)) for name, value in line.get("metrics", {}).items()}
    return TaskSample(
        task,
        arm="",
        sample="",
        scores={**scores, REWARD: SampleScore(number(line["reward"]))},
        error=error_kind(str(failure["error"] if isinstance(failure, dict) else failure)) if failure else "",
        content=task_content(task, line.get("prompt") or ""),
        tokens=usage["input_tokens"] + usage["output_tokens"] if usage else None,
        seconds=line["timing"].get("total"),
    )
