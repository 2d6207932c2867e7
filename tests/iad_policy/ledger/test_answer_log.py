"""The answer log as a file."""

import json
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from iad_policy.ledger.answer_log import ANSWERS, AnswerLine, AnswerLog, EpisodeLog
from iad_policy.ledger.codec import (
    candidate_of,
    candidate_record,
    exchange_of,
    exchange_record,
    outcome_of,
    outcome_record,
    put_observation,
    verdict_of,
    verdict_record,
)
from iad_policy.types import Candidate, Exchange, Feedback, Outcome, Verdict
from iad_policy.types.jsonl import read_lines

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


def test_a_changed_question_drops_what_was_not_replayed_for_good(tmp_path: Path) -> None:
    with closing(AnswerLog(tmp_path)) as log:
        log.episode("e").write(*(AnswerLine(str(item), f"q{item}", SAID) for item in range(4)))
    with closing(AnswerLog(tmp_path)) as log:
        episode = log.episode("e")
        asked = [("0", "q0"), ("9", "q9"), ("1", "another"), ("2", "q2")]
        assert [episode.recorded(*one) is not None for one in asked] == [True, False, False, False]
        episode.write(AnswerLine("1", "another", SAID))
    with closing(AnswerLog(tmp_path)) as log:
        episode = log.episode("e")
        asked = [("0", "q0"), ("1", "another"), ("2", "q2")]
        assert [episode.recorded(*one) is not None for one in asked] == [True, True, False]
        assert episode.n_replayed == 2


@pytest.fixture
def episode(tmp_path: Path) -> Iterator[EpisodeLog]:
    with closing(AnswerLog(tmp_path)) as log:
        yield log.episode("e")


def test_values_of_any_size_come_back_and_long_ones_are_kept_once(episode: EpisodeLog, tmp_path: Path) -> None:
    image = np.arange(3000, dtype=np.float32).reshape(30, 100)
    observation = {"page": "long " * 1000, "image": image, "n": 3}
    records = [put_observation(observation, episode) for _ in range(3)]
    assert len(list((tmp_path / "blobs").iterdir())) == 2
    back = episode.get(json.loads(json.dumps(records[2])))
    assert back["page"] == observation["page"]
    assert back["n"] == 3
    np.testing.assert_array_equal(back["image"], image)


def test_a_long_list_in_a_page_is_kept_once_and_comes_back(episode: EpisodeLog, tmp_path: Path) -> None:
    tools = [{"name": f"f{place}", "about": "ä" * 100, "of": (1, 2.5)} for place in range(40)]
    pages = [{"kind": "turn", "tools": tools, "calls": [place], "n": (place, math.inf)} for place in range(3)]
    pages += [{"kind": "turn", "tools": tools[:2]}, {}]
    other = {1: tools}  # no page
    for page in pages:
        outcome = Outcome(None, "there", {"page": page, "other": other, "step": 1}, False, "k")
        record = json.loads(json.dumps(outcome_record(outcome, episode)))
        assert outcome_of(record, episode) == outcome
        if len(page.get("tools", ())) > 2:
            assert len(json.dumps(record["info"]["page"])) < 400
    assert len(list((tmp_path / "blobs").iterdir())) == 1


def test_functions_that_a_model_is_offered_are_kept_once(episode: EpisodeLog, tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": f"f{place}", "description": "x" * 200}} for place in range(40)]
    for offered in (tools, tools, tools[:1], []):
        prompt = [{"role": "system", "content": "s", "tools": offered}, {"role": "user", "content": "u"}]
        record = json.loads(json.dumps(exchange_record(Exchange(prompt, "[]", "stop", {}), episode)))
        assert list(exchange_of(record, episode.get).prompt) == prompt
        assert len(json.dumps(record)) < 500
    assert len(list((tmp_path / "blobs").iterdir())) == 1


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
    record = json.loads(json.dumps(candidate_record(candidate)))
    again = candidate_of(record)
    assert (again.action, again.thought, again.error, again.key) == (("a", 1), "because", "odd", "a1")
    assert again.logprobs == (-0.5, -math.inf)
    assert record["feedback"] == "better!"
    for verdict in (Verdict(-math.inf, "no", False, {"part": math.nan}), Verdict(1, passed=True), Verdict(0.25)):
        assert repr(verdict_of(json.loads(json.dumps(verdict_record(verdict))))) == repr(
            Verdict(float(verdict.score), verdict.critique, verdict.passed, verdict.details)
        )
    outcome = Outcome(object(), "seen " * 400, {"step": 1, "facts": {"a": (1,)}}, True, "key")
    record = json.loads(json.dumps(outcome_record(outcome, episode)))
    assert outcome_of(record, episode) == outcome._replace(token=None)
