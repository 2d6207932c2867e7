"""The log keeps what was sent to language models and what came back, and what later readers need beside it."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from iad_policy.agents.language import LanguageAgent
from iad_policy.ledger.answer_log import FORMAT
from iad_policy.ledger.run import Run
from iad_policy.models import Completion, Messages
from iad_policy.report.exports import export_runs
from iad_policy.roles import TemplateRoles
from iad_policy.roles.language_model import ModelRoles
from iad_policy.run.runner import Runner
from iad_policy.runtime.components import Components
from iad_policy.types import Exchange, State, Verdict
from iad_policy.verifiers.judge import ScoringJudge
from tests.iad_policy.evaluation_toy import DialsEnv, Guesser, config, kept

ANSWER = "I look at the dials.\nAction: turn[1]\n"


class Saying:
    """A model that always says the same, with all that a server may tell besides."""

    name = "saying"
    settings = {"top_p": 0.9, "api_base": "http://user:secret@localhost"}  # noqa: RUF012

    def __init__(self, text: str = ANSWER) -> None:
        self.text = text
        self.prompts: list[Messages] = []

    def complete(
        self, messages: Messages, *, temperature: float | None = None, max_tokens: int | None = None
    ) -> Completion:
        self.prompts.append(messages)
        return Completion(self.text, logprobs=(-0.5,), finish_reason="length", logprob_kind="model", cached_tokens=12)


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]


def run(folder: Path, components: Components, max_steps: int = 5, **changes: Any) -> Run:
    one = Runner(config(tasks=1, **changes), partial(DialsEnv, max_steps=max_steps), lambda *_: components)
    return Run(kept(one, folder))


@pytest.fixture
def agent() -> LanguageAgent:
    return LanguageAgent(Saying(), temperature=0.4, max_tokens=77)


def test_a_candidate_keeps_the_prompt_as_sent_and_the_answer_as_sampled(agent: Any, tmp_path: Path) -> None:
    traces = run(tmp_path, Components(agent, None, TemplateRoles()), strategies=("single",))
    assert traces.config["format"] == FORMAT
    (key,) = traces.records
    candidates = [one for step in traces.episode(key).steps for one in step.decision.candidates]
    assert [list(one.exchanges[0].prompt) for one in candidates] == [
        list(map(dict, one)) for one in agent.model.prompts
    ]
    sampling = {"model": "saying", "temperature": 0.4, "max_tokens": 77, "top_p": 0.9}
    for one in candidates:
        assert one.exchanges == (Exchange(one.exchanges[0].prompt, ANSWER, "length", sampling, "model", 12),)


class Liked:
    """Likes all, by comparing."""

    information = "proxy"
    needs_preview = True
    compares = True

    def verify(self, state: State, candidates: Any) -> list[Verdict]:
        return [Verdict(0.5) for _ in candidates]


def test_judges_and_roles_keep_their_exchanges_and_subjects_too_and_prompts_are_stored_once(
    agent: Any, tmp_path: Path
) -> None:
    judge, critic = ScoringJudge(Saying("Score: 5")), ModelRoles(Saying("Turn on."))
    run(tmp_path, Components(agent, judge, critic), strategies=("iad-fb",), n=2, max_steps=1)
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for line in lines_of(tmp_path):
        by_kind.setdefault(line["kind"], []).append(line)
    assert [line["exchanges"][0]["text"] for line in by_kind["verdict"]] == ["Score: 5", "Score: 5"]
    (said,) = by_kind["text"]
    assert said["exchanges"][0]["text"] == said["text"] == "Turn on."
    assert said["subject"] == [by_kind["candidate"][0]["item"]]
    agent.model.text = "y" * 5000
    run(tmp_path / "bon", Components(agent, Liked(), TemplateRoles()), strategies=("bon",), n=3, max_steps=1)
    sent = [line["exchanges"][0] for line in lines_of(tmp_path / "bon") if line["kind"] == "candidate"]
    assert {str(one["prompt"]) for one in sent} == {str(sent[0]["prompt"])}
    assert sent[0]["text"] == "y" * 5000


def test_verdicts_and_outcomes_say_what_they_are_of(tmp_path: Path) -> None:
    run(tmp_path, Components(Guesser(), Liked(), TemplateRoles()), strategies=("iad",), n=2, max_steps=1)
    lines = lines_of(tmp_path)
    verdicts = [(line["of"], line.get("revised", False)) for line in lines if line["kind"] == "verdict"]
    assert verdicts == [("model", False), ("model", True), ("model", False)]
    reset = next(line for line in lines if line["item"] == "reset")
    assert {(line["at"], line["draw"]) for line in lines if line["kind"] == "outcome"} == {(reset["state"], 0)}


def test_an_oracle_s_score_is_the_reward_where_the_episode_ends_and_progress_elsewhere(tmp_path: Path) -> None:
    sure = Liked()
    sure.information = "oracle"
    run(tmp_path, Components(Guesser(), sure, TemplateRoles()), strategies=("bon",), n=1, max_steps=3)
    said = [line["of"] for line in lines_of(tmp_path) if line["kind"] == "verdict"]
    assert said == ["progress", "progress", "reward"]


def test_lines_of_an_unknown_kind_are_skipped_and_rows_of_an_export_say_what_the_model_was_asked(
    agent: Any, tmp_path: Path
) -> None:
    components = Components(agent, None, TemplateRoles())
    before = run(tmp_path, components, strategies=("single",), split="train")
    (key,) = before.records
    steps = before.episode(key).steps
    with (tmp_path / "answers.jsonl").open("a") as log:
        log.write(json.dumps({"episode": key, "item": "0.9", "question": "", "kind": "drawing", "lines": []}) + "\n")
    assert Run(tmp_path).episode(key).steps == steps
    assert run(tmp_path, components, strategies=("single",), split="train").episode(key).steps == steps
    export_runs([Run(tmp_path)], "jsonl", tmp_path / "rows.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert all((row["split"], "data" in row) == ("train", True) for row in rows)
    (asked,) = rows[0]["candidates"][0]["exchanges"]
    assert (asked["text"], asked["finish"], asked["prompt"][-1]["role"]) == (ANSWER, "length", "user")
