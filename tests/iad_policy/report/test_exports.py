import json
import math
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.agents.composite import CompositeAgent
from iad_policy.agents.language import LanguageAgent, language_agent
from iad_policy.agents.react import ReActAgent
from iad_policy.errors import MissingExtra, UnknownName
from iad_policy.ledger.episode import UNFINISHED, RecordedStep
from iad_policy.ledger.run import Run
from iad_policy.models import Completion, Messages, text_of
from iad_policy.models.scripted import ScriptedModel
from iad_policy.registry.domain import LANGUAGE_AGENT, domain_of, domains
from iad_policy.report.agentboard import write_agentboard
from iad_policy.report.exports import FORMATS, export_runs
from iad_policy.report.exports.decisions import DECISIONS, EPISODES
from iad_policy.report.exports.examples import preferences
from iad_policy.report.other_logs import read_logs
from iad_policy.roles import TemplateRoles
from iad_policy.run.runner import Runner
from iad_policy.runtime.components import Components
from iad_policy.types import Candidate, Decision, State, Verdict
from iad_policy.types.information import ORACLE_AGENT_TEXT, ORACLE_ROLE_TEXT
from iad_policy.types.names import ROLES
from tests.command_line import iad
from tests.iad_policy.evaluation_toy import DialsEnv, Guesser, Liker, RightOnOdd, config, kept, runner
from tests.iad_policy.report.snapshots import require_snapshot

Rows = list[dict[str, Any]]
SHOP = "IAD/WebShop-v0"
GOLD = ("progress", "success", "reward_parts")
JSON_FORMS = [form for form in FORMATS if form != "parquet"]


def exported(path: Path, form: str, **options: Any) -> Rows:
    out = path.parent / f"{form}.jsonl"
    written = export_runs([Run(path)], form, out, **options)
    rows = rows_of(out)
    assert len(rows) == written[out]
    return rows


def rows_of(file: Path) -> Rows:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = runner(strategies=("single", "bon", "bon-sc", "iad"), seed=3)
    return kept(made, tmp_path_factory.mktemp("exports") / "dials")


@pytest.mark.parametrize("form", JSON_FORMS)
def test_the_rows_of_an_episode_are_as_they_were_looked_at(run: Path, form: str) -> None:
    """Every row has the columns that it promises and the verifier's label, and no prompt has gold."""
    rows, columns = exported(run, form), list(FORMATS[form][0].kinds)
    for row in rows:
        assert list(row) == columns
        messages = row.get("messages" if form == "sft" else "prompt") or []
        asked = "\n".join(one["content"] for one in messages if one["role"] != "assistant").casefold()
        assert ("open dials" in asked) == (form != "jsonl")
        assert not any(word in asked for word in GOLD)
    if form == "jsonl":
        assert len(rows) == sum(one.n_steps for one in Run(run).records.values())
        rows = [row for row in rows if row["step"] == 0] + rows_of(run.parent / "jsonl.episodes.jsonl")
    require_snapshot(f"export_{form}.json", [row for row in rows if row["task_id"] == "dials-1"])


def test_an_oracle_is_named_on_every_row(run: Path, tmp_path: Path) -> None:
    seeing = [
        type(f"Seeing{one.__name__}", (one,), {"information": "oracle"}) for one in (Guesser, Liker, TemplateRoles)
    ]
    here = Components(*(one() for one in seeing))
    path = kept(Runner(config(strategies=("iad",)), DialsEnv, lambda *_: here), tmp_path / "run")
    labels = ("information", "agent_information", "role_information")
    who = [f"guesser is an {ORACLE_AGENT_TEXT}", *(f"{role} is an {ORACLE_ROLE_TEXT}" for role in ROLES)]
    for form in JSON_FORMS:
        told: list[str] = []
        rows = exported(path, form, report=told.append)
        assert {row[name] for name in labels for row in rows} == {"oracle"}
        assert told == ([f"{path}: {text}" for text in who] if form != "jsonl" else []), "examples give answers away"
    with pytest.raises(ValueError, match=r"only 4 .*--gold"):
        export_runs([Run(path)], "dataset", tmp_path / "shared")
    assert not (tmp_path / "shared").exists(), "what knows the answers is not shared unasked"
    told = []
    export_runs([Run(run), Run(path)], "dataset", tmp_path / "rest", report=told.append)
    assert told == ["4 episodes left out, as an agent or a role sees gold; --gold keeps them, labelled"]
    export_runs([Run(path)], "dataset", tmp_path / "shared", with_gold=True)
    assert "**Contains right answers**" in card(tmp_path / "shared")[1]
    export_runs([Run(path)], "atif", tmp_path / "atif")
    documents = [json.loads(file.read_text()) for file in (tmp_path / "atif").rglob("*.json")]
    assert {one["agent"]["extra"][name] for one in documents for name in labels} == {"oracle"}
    assert len(read_logs("atif", [tmp_path / "atif"]).alarms) == 3


@pytest.fixture(scope="module")
def by_split(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run of the shop per split. That of test tasks has an environment that was made with its split."""
    folder = tmp_path_factory.mktemp("splits")
    evaluate(SHOP, ["bon"], tasks=2, n=4, split="train", out=folder / "train")
    made = partial(gym.make, SHOP, split="test")
    evaluate(made, ["bon"], tasks=2, n=4, agent="shopper", verifier="proxy", out=folder / "test")
    return {name: folder / name for name in ("train", "test")}


@pytest.mark.parametrize("form", ["jsonl", "preference"])
def test_a_file_says_that_no_test_task_is_in_it(form: str, by_split: Any, run: Path, tmp_path: Path) -> None:
    told: list[str] = []

    def not_train(*runs: Path) -> set[str]:
        """The tasks of a file that are no training tasks, by what stands in the file alone."""
        told.clear()
        written = export_runs([*map(Run, runs)], form, tmp_path / f"{form}.jsonl", report=told.append)
        rows = [row for path in written for row in rows_of(path)]
        assert run in runs or {row["data"] for row in rows} == {gym.make(SHOP).unwrapped.data.digest}  # type: ignore[attr-defined]
        return {row["task_id"] for row in rows if row["split"] != "train"}

    assert (not_train(by_split["train"]), told) == (set(), []), "training tasks are to train on"
    tested = {record.task_id for record in Run(by_split["test"]).records.values()}
    assert set() < not_train(*by_split.values()) <= tested
    assert len(told) == (form != "jsonl")
    assert all(str(by_split["test"]) in said and "split 'test'" in said for said in told)
    assert not_train(run), "a run that says no split is not taken for training"


def test_a_preference_of_a_verifier_has_the_least_margin_that_is_asked_for(run: Path) -> None:
    every, wide = exported(run, "preference"), exported(run, "preference", min_margin=2.0)
    assert wide == [row for row in every if row["preferred_by"] != "verifier" or row["margin"] >= 2.0] != every
    n_pairs = Counter((row["episode"], row["step"]) for row in every)
    assert len(exported(run, "kto")) == len(every) + len(n_pairs), "what is committed is labelled once"


def test_only_successful_episodes_are_left_when_they_are_asked_for(tmp_path: Path) -> None:
    path = kept(runner(RightOnOdd(), strategies=("single",)), tmp_path / "run")
    rows = exported(path, "sft", is_successful_only=True)
    assert [row["task_id"] for row in rows] == ["dials-1"] * 3 + ["dials-3"] * 3
    assert len(exported(path, "sft")) == 12


class Scripted:
    """Answers what a function makes of the number of questions, with log-probabilities, and keeps what it was asked."""

    name = "scripted"

    def __init__(self, answer: Callable[[int], str]) -> None:
        self.asked: list[Messages] = []
        self.answer = answer

    def complete(self, messages: Messages, **_: Any) -> Completion:
        self.asked.append(messages)
        return Completion(self.answer(len(self.asked)), logprobs=(-0.5, -0.25))

    def rows(self, made: Any, path: Path, form: str, world: Callable[[], Any] = DialsEnv, **asked: Any) -> Rows:
        """The rows of a run with an agent that asks this model, whose prompts are those that it was asked."""
        here = Components(made, None if "env" in asked else Liker(), TemplateRoles())
        if not path.exists():
            kept(Runner(config(**asked), world, lambda *_: here), path)
        rows = exported(path, form)
        prompts = {json.dumps(row["messages"][:-1] if form == "sft" else row["prompt"]) for row in rows}
        assert prompts <= {json.dumps(messages) for messages in self.asked}
        return rows


def tried(n: int) -> str:
    digit = Random(n).choice("012x")
    return f"I try {digit}.\nAction: turn[{digit}]" if digit != "x" else "No idea"


@pytest.mark.parametrize("style", ["direct", "cot", "few-shot", "react"])
def test_a_language_models_prompts_and_answers_come_back_word_for_word(style: Any, tmp_path: Path) -> None:
    model = Scripted(tried)
    made = ReActAgent(model) if style == "react" else LanguageAgent(model, style=style)
    agent = "react:scripted" if style == "react" else f"litellm:scripted#{style}"
    asked = {"agent": agent, "strategies": ("bon",), "n": 4}
    rows = model.rows(made, tmp_path / "run", "sft", **asked)
    assert all(row["messages"][-1]["content"].startswith("I try ") for row in rows)
    assert {row["logprob"] for row in rows} == {-0.75}
    pairs = model.rows(made, tmp_path / "run", "preference", **asked)
    unread = [row for row in pairs if row["preferred_by"] == "format"]
    assert {row["rejected"][0]["content"] for row in unread} == {"No idea"}
    assert {(row["margin"], row["chosen_logprob"], row["rejected_logprob"]) for row in unread} == {(None, -0.75, -0.75)}


def test_a_composed_answer_comes_back_with_its_parts_also_in_later_prompts(tmp_path: Path) -> None:
    model = Scripted(lambda n: f"Thought: round {n}\nCommand: turn[{n % 3}]\nExplanation: it fits")
    asked = {"agent": "composite:scripted", "strategies": ("bon",), "n": 2}
    for row in model.rows(CompositeAgent(model), tmp_path / "run", "sft", **asked):
        assert row["messages"][-1]["content"].splitlines()[2] == "Explanation: it fits"


def test_numbers_as_actions_are_asked_for_with_their_range(tmp_path: Path) -> None:
    model, lake = Scripted(lambda n: f"Action: {n % 4}"), partial(gym.make, "FrozenLake-v1")
    asked = {"env": "FrozenLake-v1", "agent": "litellm:numbers", "verifier": "", "strategies": ("bon-sc",)}
    made = LanguageAgent(model, space=lake().action_space)
    first, *_ = model.rows(made, tmp_path / "run", "sft", lake, **asked, n=3, tasks=2)
    assert "a whole number from 0 to 3" in first["messages"][0]["content"]


IN_WORDS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name, _ in sorted(domains()) if name.startswith("IAD/") and "Browser" not in name),
    ("IAD/BIRD-v0", {"mode": "answer"}),
]


@pytest.mark.parametrize(("name", "options"), IN_WORDS)
def test_a_target_is_in_the_form_that_its_prompt_asks_for(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    split, out = "dev" if "Sketch" in name else "train", tmp_path / "run"
    asked: dict[str, Any] = {"agent": "solution:0", "verifier": "none", "split": split, "env_args": options}
    evaluate(name, ["single"], 2, **asked, out=out)
    env: Any = gym.make(name, split=split, **options).unwrapped
    reader = language_agent(env, ScriptedModel(()), "direct" if domain_of(env).language == LANGUAGE_AGENT else None)
    firsts = {row["episode"]: row["messages"] for row in reversed(exported(out, "sft"))}
    for key, (*asked, said) in firsts.items():
        step: Any = Run(out).episode(key).steps[0]
        messages = reader.messages(replace(step.before, steps_left=env.max_steps))
        assert asked == [{"role": one["role"], "content": text_of(one["content"])} for one in messages]
        reading = reader._read(Completion(said["content"]), step.before)
        assert (env.action_key(reading.action), reading.thought) == (env.action_key(step.action), "")
    env.close()
    assert len(firsts) == 2


HERE = State("seen", {}, id="here")


def proposed(item: str, key: str, score: float = math.nan, **more: Any) -> Candidate:
    verdict = None if math.isnan(score) else Verdict(score)
    return Candidate(**({"id": item, "at": "here", "action": key, "key": key, "verdict": verdict} | more))


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([proposed("b", "other", 0.5)], []),  # a tie says nothing
        ([proposed("b", "other", 0.7)], []),  # a vote against the scores is left out
        ([proposed("b", "other", -math.inf)], [("strategy", None)]),  # a verifier that failed says nothing
        ([proposed("b", "same", 0.1)], []),  # an equal action is no alternative
        ([proposed("b", "other", 0.1, at="ahead")], []),  # a simulated state is another prompt
        ([proposed("b", "other", 0.1), proposed("c", "other", 0.1)], [("verifier", 0.4)]),  # each once
        ([proposed("b", "", action=None, thought="Hm", error="none")], [("format", None)]),  # no action
        ([proposed("b", "", action=None, error="empty")], []),  # nothing was said
    ],
)
def test_what_counts_as_a_preference(others: Sequence[Candidate], expected: list[Any]) -> None:
    first = proposed("a", "same", 0.5)
    step = RecordedStep(0, Decision(HERE, (first, *others), first, {}))
    assert [(one.by, one.margin) for one in preferences(step)] == expected
    # What the strategy made itself is preferred to nothing.
    assert not list(preferences(RecordedStep(0, Decision(HERE, (first, *others), UNFINISHED, {}))))


class Odd:
    """Thinks what is no Unicode."""

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        return Candidate(f"turn[{rng.choice('012')}]", thought="half \ud83d of it")


def test_parquet_and_json_lines_hold_the_same_rows_also_of_texts_that_are_no_unicode(run: Path, tmp_path: Path) -> None:
    odd = kept(runner(Odd(), strategies=("bon",)), tmp_path / "odd")
    thoughts = {one["thought"] for row in exported(odd, "jsonl") for one in row["candidates"]}
    assert thoughts == {"half \ufffd of it"}
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: make training")
    for path, form in ((odd, "parquet"), *((run, form) for form in ("sft", "preference", "kto", "parquet"))):
        export_runs([Run(path)], form, tmp_path / f"{form}.parquet")
        rows = parquet.read_table(tmp_path / f"{form}.parquet").to_pylist()
        assert rows == exported(path, "jsonl" if form == "parquet" else form)


@pytest.mark.parametrize(("form", "ending"), [("jsonl", "jsonl"), ("preference", "parquet")])
def test_processes_side_by_side_write_the_same_bytes(run: Path, tmp_path: Path, form: str, ending: str) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="needs pyarrow: make training")
    runs = [Run(run), Run(run)]  # a process each
    alone = export_runs(runs, form, tmp_path / "alone" / f"data.{ending}")
    together = export_runs(runs, form, tmp_path / "together" / f"data.{ending}", workers=2)
    assert list(alone.values()) == list(together.values())
    assert [path.read_bytes() for path in alone] == [path.read_bytes() for path in together]


def card(folder: Path) -> tuple[dict[str, Any], str]:
    """The header of a dataset's card, whose values are JSON, and its text."""
    _, header, text = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return {name: json.loads(value) for name, _, value in (one.partition(": ") for one in header.splitlines())}, text


def test_a_dataset_has_what_its_card_promises(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "mine"
    export_runs([Run(run)], "dataset", out)
    header, text = card(out)
    assert header["license"] == "other", "whose tasks they are is not known"
    assert "look before you share" in text
    assert "Right answers are not in these files" in text
    promised = {one["config_name"]: [each["name"] for each in one["features"]] for one in header["dataset_info"]}
    files = {one["config_name"]: rows_of(out / one["data_files"]) for one in header["configs"]}
    assert files.keys() == promised.keys() == {"decisions", "episodes", "tasks"}
    assert all(list(row) == promised[name] for name, rows in files.items() for row in rows)
    records = Run(run).records.values()
    tasks = {row["task_id"]: (row["instruction"], row["n_episodes"]) for row in files["tasks"]}
    assert tasks == {one.task_id: (one.instruction, 4) for one in records}
    assert sum(row["n_successes"] for row in files["tasks"]) == sum(one.success == 1.0 for one in records)
    assert not {*files["tasks"][0]} & {*GOLD}
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="needs datasets: make training")
    for name, kinds in (("decisions", DECISIONS.kinds), ("episodes", EPISODES.kinds)):
        read = datasets.load_dataset(str(out), name, split="train", cache_dir=str(tmp_path / "cache"))
        assert (read.to_list(), list(read.features)) == (files[name], list(kinds))


def test_the_licence_of_the_tasks_is_told(by_split: dict[str, Path], tmp_path: Path) -> None:
    export_runs([Run(by_split["train"])], "dataset", tmp_path / "bundled")
    header, text = card(tmp_path / "bundled")
    assert (header["license"], "MIT: written for iad" in text) == ("mit", True)
    made = shutil.copytree(by_split["train"], tmp_path / "run")
    recorded = json.loads((made / "config.json").read_text())
    recorded |= {"data_dir": "official:webshop-small", "data": {"name": "official", "digest": "ab"}}
    (made / "config.json").write_text(json.dumps(recorded))
    assert iad("export", made, "--to", "dataset", "--out", tmp_path / "official").exit_code == 0
    header, text = card(tmp_path / "official")
    assert (header["license"], "WebShop, 1,000 products: MIT" in text) == ("other", True)


def test_what_can_not_be_written_is_refused(run: Path, tmp_path: Path) -> None:
    for form, name, said in (
        ("json", "a.jsonl", "known: atif, dataset, jsonl, kto, parquet, preference, sft"),
        ("jsonl", "a.parquet", "ends in .jsonl"),
        ("parquet", "a.jsonl", "ends in .parquet"),
        ("dataset", "mine", "empty folder"),
        ("atif", "two", "got dials, dials"),
    ):
        (tmp_path / "mine" / "notes").mkdir(parents=True, exist_ok=True)
        with pytest.raises((UnknownName, ValueError), match=said):
            export_runs([Run(run), Run(run)], form, tmp_path / name)
    assert [*tmp_path.rglob("*")] == [tmp_path / "mine", tmp_path / "mine" / "notes"]
    if find_spec("pyarrow") is None:
        with pytest.raises(MissingExtra, match=r"\[export\]"):
            export_runs([Run(run)], "parquet", tmp_path / "run.parquet")
    # A run without preferences, and the file that was there stays.
    path, out = kept(runner(strategies=("single",)), tmp_path / "run"), tmp_path / "pairs.jsonl"
    out.write_text("before")
    with pytest.raises(ValueError, match="decisions with a committed and a rejected"):
        export_runs([Run(path)], "preference", out)
    assert out.read_text() == "before"


def test_the_files_have_agentboards_names_and_what_was_looked_at(tmp_path: Path) -> None:
    """Lines of JSON; easy and hard are their own rates, and all is the mean."""
    run = Run(kept(runner(RightOnOdd(), strategies=("single", "iad")), tmp_path / "run"))
    written = write_agentboard([run], tmp_path / "board")
    names = sorted(str(path.relative_to(tmp_path / "board")) for path in written if "iad" in path.parts)
    assert names == ["iad/all_results.txt", "iad/dialsenv.txt", "iad/logs/dialsenv.jsonl"]
    texts = [f"=== {name}\n{(tmp_path / 'board' / name).read_text()}" for name in names]
    require_snapshot("agentboard.txt", "\n".join(texts))
    lines = (tmp_path / "board" / names[-1]).read_text().splitlines()
    played = [[turn["Action"] for turn in json.loads(line)["trajectory"].values()] for line in lines]
    assert played == [list(record.actions) for record in run.records.values() if record.strategy == "iad"]
    with pytest.raises(ValueError, match="two of dialsenv"):
        write_agentboard([run, run], tmp_path / "board")
