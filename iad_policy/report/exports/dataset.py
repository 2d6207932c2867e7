"""Runs as a folder that `datasets.load_dataset` reads: tasks, episodes and decisions, with a card about them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from iad_policy.report.exports.decisions import DECISIONS, EPISODES
from iad_policy.report.exports.packing import Packed, write_packs
from iad_policy.report.exports.tables import HEAD, Kind, Row, Source
from iad_policy.types.atomic import write_text

OF_TASK = ("env", "data", "split", "task_id")
"""What a task is known by, in rows of every file."""
TASKS: Mapping[str, Kind] = {
    **{name: HEAD[name] for name in OF_TASK},
    **dict.fromkeys(("instruction", "difficulty"), str),
    **dict.fromkeys(("n_episodes", "n_successes"), int),
}
COLUMNS: Mapping[str, tuple[str, Mapping[str, Kind]]] = {
    "decisions": ("trajectories: a row per decision, in order, with all its candidates", DECISIONS.kinds),
    "episodes": ("a row per episode: how it ended, and what it spent", EPISODES.kinds),
    "tasks": ("a row per task of these episodes, without its answer", TASKS),
}
"""Name of a configuration, and of its file -> what its rows are, and their columns."""
MEANING: Mapping[str, str] = {
    "information": "What the verifier's scores rest on. `oracle`: it read the true score. For diagnosis only",
    "agent_information": "`oracle` where the agent knew the right action",
    "role_information": "`oracle` where a role, such as a critic, saw the reference",
    "run, episode": "The run's folder, and the episode's key",
    "env, data, split, task_id": "The task: environment, digest of its data, split and id. "
    'A split of "" is not known. Tasks of a test split are for measuring, not for training',
    "seed, agent, strategy, n, verifier": "What acted. n is the number of proposals per decision",
    "success, progress, episode_reward": "The episode's outcome, which the environment scored afterwards",
    "candidates": "Every proposed action with verdict, feedback, prompts and tokens. `is_committed` marks the one "
    "that was taken; the others were rejected",
    "tokens, usd, wall_s": "What the episode spent, with all roles",
}
LABELS = ("information", "agent_information", "role_information")
DTYPES: Mapping[Kind, str] = {str: "string", int: "int64", float: "float64", bool: "bool"}
"""Types as `datasets` names them."""


def write_dataset(folder: Path, sources: Sequence[Source], packed: Packed) -> dict[Path, int]:
    """Write the folder; returns its files of rows with their numbers, none where there is no finished episode."""
    files = {folder / "decisions.jsonl": DECISIONS, folder / "episodes.jsonl": EPISODES}
    written = write_packs({path: table.kinds for path, table in files.items()}, packed(list(files.values())))
    if not all(written.values()):
        return {}
    with (folder / "episodes.jsonl").open("rb") as lines:
        kept = {row["episode"]: row for row in map(json.loads, lines)}
    tasks = list(_tasks(sources, kept))
    path = folder / "tasks.jsonl"
    write_text(path, "".join(f"{json.dumps(row)}\n" for row in tasks))
    write_text(folder / "README.md", "\n".join(_card(sources, kept.values())) + "\n")
    return {**written, path: len(tasks)}


def _tasks(sources: Sequence[Source], kept: Mapping[str, Row]) -> Iterator[Row]:
    found: dict[tuple[str, ...], Row] = {}
    for source in sources:
        for key, record in source.run.records.items():
            if key in kept:
                row = kept[key]
                of_task = {name: row[name] for name in OF_TASK}
                known = {"instruction": record.instruction, "difficulty": record.difficulty}
                counts = {"n_episodes": 0, "n_successes": 0}
                task = found.setdefault(tuple(of_task.values()), {**of_task, **known, **counts})
                task["n_episodes"] += 1
                task["n_successes"] += record.success == 1.0
    yield from found.values()


def _card(sources: Sequence[Source], episodes: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of README.md. JSON is YAML, too."""
    rows = list(episodes)
    is_bundled = all(source.run.config.get("data", {}).get("name") == "bundled" for source in sources)
    header = {
        "license": "mit" if is_bundled else "other",
        **({} if is_bundled else {"license_name": "licences-of-the-data-below"}),
        "task_categories": ["reinforcement-learning", "text-generation"],
        "tags": ["agents", "trajectories", "iad"],
        "configs": [
            {"config_name": name, "data_files": f"{name}.jsonl", **({"default": True} if name == "decisions" else {})}
            for name in COLUMNS
        ],
        # JSON lines have no types: a column that is empty in the first rows would get a wrong one.
        "dataset_info": [{"config_name": name, "features": _features(kinds)} for name, (_, kinds) in COLUMNS.items()],
    }
    yield from ("---", *(f"{name}: {json.dumps(value)}" for name, value in header.items()), "---")
    n_tasks = len({tuple(row[name] for name in OF_TASK) for row in rows})
    yield f"# Decisions of agents in {', '.join(sorted({row['env'] for row in rows}))}"
    yield f"\n{len(rows)} episodes of {n_tasks} tasks, exported by iad {_versions(sources)}.\n"
    yield from ("| configuration | rows |", "|---|---|")
    yield from (f"| `{name}` | {said} |" for name, (said, _) in COLUMNS.items())
    yield (
        '\n`datasets.load_dataset("FOLDER", "decisions", split="train")` reads them. `train` is its name for all rows. '
        "The column `split` has the tasks' own split."
    )
    yield from ("\n## Columns", "| column | meaning |", "|---|---|")
    yield from (f"| {_quoted(name)} | {said} |" for name, said in MEANING.items())
    yield "\n## Information of oracles"
    seen = {name: sum(row[name] == "oracle" for row in rows) for name in LABELS}
    yield " ".join(f"`{name}` is `oracle` in {n} of {len(rows)} episodes." for name, n in seen.items())
    if seen["agent_information"] or seen["role_information"]:
        yield "\n**Contains right answers**: in episodes whose `agent_information` or `role_information` is `oracle`."
    else:
        yield "\nRight answers are not in these files: no agent and no role saw them. The outcome of an episode is."
    yield from (
        "\n## Where the tasks are from",
        "| run | environment | data | licence of the data |",
        "|---|---|---|---|",
    )
    for source in sources:
        data = source.run.config.get("data", {})
        kind, digest = data.get("name", "none"), data.get("digest", "")
        known = "MIT: written for iad" if kind == "bundled" else source.published or "not known: look before you share"
        yield f"| `{source.name}` | {source.run.config['env']} | {kind} {digest} | {known} |"
    yield "\nThe licence above is that of the tasks. For what language models wrote, their providers' terms hold."


def _quoted(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))


def _versions(sources: Sequence[Source]) -> str:
    return ", ".join(dict.fromkeys(str(source.run.config.get("iad_version", "")) for source in sources))


def _features(kinds: Mapping[str, Kind]) -> list[dict[str, object]]:
    return [{"name": name, **_feature(kind)} for name, kind in kinds.items()]


def _feature(kind: Kind) -> dict[str, object]:
    if isinstance(kind, list):
        inner = kind[0]
        return {"list": _features(inner) if isinstance(inner, dict) else DTYPES[inner]}
    return {"dtype": DTYPES[kind]}
