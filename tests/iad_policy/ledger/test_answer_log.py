"""The answer log as a file: answers, what was sent to language models, and what later readers need beside it."""

import json
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iad_policy.agents.language import LanguageAgent
from iad_policy.ledger import codec
from iad_policy.ledger.answer_log import ANSWERS, FORMAT, AnswerLine, AnswerLog, EpisodeLog
from iad_policy.ledger.run import Run
from iad_policy.models import Completion, Messages
from iad_policy.report.exports import export_runs
from iad_policy.roles import TemplateRoles
from iad_policy.roles.language_model import ModelRoles
from iad_policy.run.runner import Runner
from iad_policy.runtime.components import Components
from iad_policy.types import Candidate, Exchange, Feedback, Outcome, State, Usage, Verdict
from iad_policy.types.jsonl import read_lines
from iad_policy.verifiers.judge import ScoringJudge
from tests.iad_policy.evaluation_toy import DialsEnv, Guesser, config, kept

SAID = {"kind": "text", "role": "critic", "text": "no", "source": "template"}


def test_a_torn_last_line_is_cut_off_and_a_broken_one_is_named_and_removed(tmp_path: Path) -> None:
    path = tmp_path / ANSWERS
    whole = b'{"episode":"e","item":"0.0.0","question":"q","kind":"cut","axis":"decision.proposals"}\n'
    path.write_bytes(whole + b"[1]\n" + whole[:20])
    with pytest.warns(UserWarning, match="line 2: expected a JSON object"):
        log = AnswerLog(tmp_path)
    assert log.episode("e").recorded("0.0.0", "q") is not None
    log.close()
    log.close()
    assert path.read_bytes() == whole


@contextmanager
def opened(folder: Path) -> Iterator[EpisodeLog]:
    with closing(AnswerLog(folder)) as log:
        yield log.episode("e")


def test_a_changed_question_drops_what_was_not_replayed_for_good(tmp_path: Path) -> None:
    with opened(tmp_path) as episode:
        episode.write(*(AnswerLine(str(item), f"q{item}", SAID) for item in range(4)))
    with opened(tmp_path) as episode:
        asked = [("0", "q0"), ("9", "q9"), ("1", "another"), ("2", "q2")]
        assert [episode.recorded(*one) is not None for one in asked] == [True, False, False, False]
        episode.write(AnswerLine("1", "another", SAID))
    with opened(tmp_path) as episode:
        asked = [("0", "q0"), ("1", "another"), ("2", "q2")]
        assert [episode.recorded(*one) is not None for one in asked] == [True, True, False]
        assert episode.n_replayed == 2


@pytest.fixture
def episode(tmp_path: Path) -> Iterator[EpisodeLog]:
    with opened(tmp_path) as log:
        yield log


def read_back(record: Any) -> Any:
    return json.loads(json.dumps(record))


def test_values_of_any_size_come_back_and_long_ones_are_kept_once(episode: EpisodeLog, tmp_path: Path) -> None:
    image = np.arange(3000, dtype=np.float32).reshape(30, 100)
    observation = {"page": "long " * 1000, "image": image, "n": 3}
    *_, record = [codec.put_observation(observation, episode) for _ in range(3)]
    assert len(list((tmp_path / "blobs").iterdir())) == 2
    back = episode.get(read_back(record))
    np.testing.assert_array_equal(back.pop("image"), image)
    assert back == {"page": observation["page"], "n": 3}


def test_a_long_list_in_a_page_is_kept_once_and_comes_back(episode: EpisodeLog, tmp_path: Path) -> None:
    tools = [{"name": f"f{place}", "about": "ä" * 100, "of": (1, 2.5)} for place in range(40)]
    pages = [{"kind": "turn", "tools": tools, "calls": [place], "n": (place, math.inf)} for place in range(3)]
    for page in (*pages, {"kind": "turn", "tools": tools[:2]}, {}):
        outcome = Outcome(None, "there", {"page": page, "other": {1: tools}, "step": 1}, False, "k")
        record = read_back(codec.outcome_record(outcome, episode))
        assert codec.outcome_of(record, episode) == outcome
        assert page not in pages or len(json.dumps(record["info"]["page"])) < 400
    tools = read_back(tools)
    for offered in (tools, tools[:1], []):  # functions that a model is offered are kept once, too
        prompt = [{"role": "system", "content": "s", "tools": offered}, {"role": "user", "content": "u"}]
        record = read_back(codec.exchange_record(Exchange(prompt, "[]", "stop", {}), episode))
        assert list(codec.exchange_of(record, episode.get).prompt) == prompt
        assert len(json.dumps(record)) < 800
    assert len(list((tmp_path / "blobs").iterdir())) == 2


def test_threads_may_write_the_same_blob_and_lines_at_once(episode: EpisodeLog, tmp_path: Path) -> None:
    def write(item: int) -> None:
        for part in range(10):
            episode.put("text " * 500 + str(part))
            episode.write(AnswerLine(f"{item}.{part}", "q", {"kind": "text", "text": "x" * 300}))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert len(list(read_lines(tmp_path / ANSWERS))) == 80
    assert sorted(path.suffix for path in (tmp_path / "blobs").iterdir()) == [".json"] * 10


def test_every_kind_of_answer_comes_back(episode: EpisodeLog) -> None:
    candidate = Candidate(("a", 1), "because", "odd", "a1", logprobs=(-0.5, -math.inf), feedback=Feedback("better!"))
    record = read_back(codec.candidate_record(candidate))
    assert codec.candidate_of(record) == replace(candidate, usage=Usage(proposals=1))
    assert record["feedback"] == "better!"
    for verdict in (Verdict(-math.inf, "no", False, {"part": math.nan}), Verdict(1.0, passed=True), Verdict(0.25)):
        assert repr(codec.verdict_of(read_back(codec.verdict_record(verdict)))) == repr(verdict)
    outcome = Outcome(object(), "seen " * 400, {"step": 1, "facts": {"a": (1,)}}, True, "key")
    back = codec.outcome_of(read_back(codec.outcome_record(outcome, episode)), episode)
    assert back == outcome._replace(token=None)


ANSWER = "I look at the dials.\nAction: turn[1]\n"


class Saying:
    """A model that always says the same, with all that a server may tell besides."""

    name = "saying"
    settings = {"top_p": 0.9, "api_base": "http://user:secret@localhost"}  # noqa: RUF012

    def __init__(self, text: str = ANSWER) -> None:
        self.text, self.prompts = text, list[Messages]()

    def complete(self, messages: Messages, **given: Any) -> Completion:
        self.prompts.append(messages)
        return Completion(self.text, logprobs=(-0.5,), finish_reason="length", logprob_kind="model", cached_tokens=12)


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]


def run(folder: Path, agent: Any, verifier: Any = None, roles: Any = None, max_steps: int = 5, **changes: Any) -> Run:
    here = Components(agent, verifier, roles or TemplateRoles())
    make_env = partial(DialsEnv, max_steps=max_steps)
    return Run(kept(Runner(config(tasks=1, **changes), make_env, lambda *_: here), folder))


@pytest.fixture
def agent() -> LanguageAgent:
    return LanguageAgent(Saying(), temperature=0.4, max_tokens=77)


def test_a_candidate_keeps_the_prompt_as_sent_and_the_answer_as_sampled(agent: Any, tmp_path: Path) -> None:
    traces = run(tmp_path, agent, strategies=("single",))
    assert traces.config["format"] == FORMAT
    (key,) = traces.records
    candidates = [one for step in traces.episode(key).steps for one in step.decision.candidates]
    prompts = [list(map(dict, one)) for one in agent.model.prompts]
    assert [list(one.exchanges[0].prompt) for one in candidates] == prompts
    sampling = {"model": "saying", "temperature": 0.4, "max_tokens": 77, "top_p": 0.9}
    for one in candidates:
        assert one.exchanges == (Exchange(one.exchanges[0].prompt, ANSWER, "length", sampling, "model", 12),)


class Liked:
    information, needs_preview, compares = "proxy", True, True

    def verify(self, state: State, candidates: Any) -> list[Verdict]:
        return [Verdict(0.5) for _ in candidates]


def test_judges_and_roles_keep_their_exchanges_and_prompts_are_stored_once(agent: Any, tmp_path: Path) -> None:
    judge, critic = ScoringJudge(Saying("Score: 5")), ModelRoles(Saying("Turn on."))
    run(tmp_path, agent, judge, critic, strategies=("iad-fb",), n=2, max_steps=1)
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for line in lines_of(tmp_path):
        by_kind.setdefault(line["kind"], []).append(line)
    assert [line["exchanges"][0]["text"] for line in by_kind["verdict"]] == ["Score: 5", "Score: 5"]
    (said,) = by_kind["text"]
    assert said["exchanges"][0]["text"] == said["text"] == "Turn on."
    assert said["subject"] == [by_kind["candidate"][0]["item"]]
    agent.model.text = "y" * 5000
    run(tmp_path / "bon", agent, Liked(), strategies=("bon",), n=3, max_steps=1)
    sent = [line["exchanges"][0] for line in lines_of(tmp_path / "bon") if line["kind"] == "candidate"]
    assert {str(one["prompt"]) for one in sent} == {str(sent[0]["prompt"])}
    assert sent[0]["text"] == "y" * 5000


def test_verdicts_and_outcomes_say_what_they_are_of(tmp_path: Path) -> None:
    run(tmp_path, Guesser(), Liked(), strategies=("iad",), n=2, max_steps=1)
    lines = lines_of(tmp_path)
    verdicts = [(line["of"], line.get("revised", False)) for line in lines if line["kind"] == "verdict"]
    assert verdicts == [("model", False), ("model", True), ("model", False)]
    reset = next(line for line in lines if line["item"] == "reset")
    assert {(line["at"], line["draw"]) for line in lines if line["kind"] == "outcome"} == {(reset["state"], 0)}
    # An oracle's score is the reward where the episode ends, and progress elsewhere.
    sure = Liked()
    sure.information = "oracle"
    run(tmp_path / "sure", Guesser(), sure, strategies=("bon",), n=1, max_steps=3)
    said = [line["of"] for line in lines_of(tmp_path / "sure") if line["kind"] == "verdict"]
    assert said == ["progress", "progress", "reward"]


def test_unknown_lines_are_skipped_and_exported_rows_say_what_was_asked(agent: Any, tmp_path: Path) -> None:
    before = run(tmp_path, agent, strategies=("single",), split="train")
    (key,) = before.records
    steps = before.episode(key).steps
    with (tmp_path / "answers.jsonl").open("a") as log:
        log.write(json.dumps({"episode": key, "item": "0.9", "question": "", "kind": "drawing", "lines": []}) + "\n")
    assert Run(tmp_path).episode(key).steps == steps
    assert run(tmp_path, agent, strategies=("single",), split="train").episode(key).steps == steps
    export_runs([Run(tmp_path)], "jsonl", tmp_path / "rows.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert all((row["split"], "data" in row) == ("train", True) for row in rows)
    (asked,) = rows[0]["candidates"][0]["exchanges"]
    assert (asked["text"], asked["finish"], asked["prompt"][-1]["role"]) == (ANSWER, "length", "user")
