"""`evaluate`: what the command does, from Python, and with things of one's own."""

import json
import linecache
import sys
from functools import partial
from importlib import import_module
from itertools import repeat
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import Candidate, Outcome, Propose, State, Usage, Verdict, evaluate, per_step, report_usage
from iad_policy.agents.language import LanguageAgent
from iad_policy.errors import RunFolderError, UnknownName
from iad_policy.ledger.run import Run
from iad_policy.models import Completion
from iad_policy.models.scripted import ScriptedModel
from iad_policy.registry.source import source_parts
from iad_policy.report.results import read_results
from iad_policy.report.viewer.shown import run_json
from iad_policy.types import FEEDBACK_DROPPED
from iad_policy.types.information import Information
from iad_policy.verifiers import is_own
from tests.contract import foreign  # noqa: F401 (registers)
from tests.contract.components import TAXI
from tests.iad_policy.evaluation_toy import DialsEnv, EasyDials, Guesser, Liker
from tests.iad_policy.report.snapshots import require_snapshot

SHOP = "IAD/WebShop-v0"


@per_step
def last(here: State, *, n: int = 2) -> Any:
    """Commit the last of n proposals."""
    return (yield from Propose(here, n))[-1]


def test_it_returns_what_the_folder_holds(tmp_path: Path) -> None:
    results = evaluate(SHOP, ["single", "iad"], 6, n=2, workers=3, out=tmp_path)
    found: Any = results.compare("iad", "single")
    back: Any = results.compare("single", "iad")
    assert (found.baseline, found.n_pairs, back.success.value) == ("single", 6, -found.success.value)
    assert of(tmp_path, "summary")["strategies"]["iad"]["success"] == results.figures().summaries["iad"].success
    assert evaluate(SHOP, ["single", "iad"], 6, n=2, out=tmp_path).table() == results.table()


def of(folder: Path, name: str) -> dict[str, Any]:
    """What a file of a run says."""
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    return found


def test_what_success_means_is_kept_if_it_is_no_reward_of_1_and_an_earlier_folder_goes_on(tmp_path: Path) -> None:
    def run(env: Any, out: Path) -> Any:
        return evaluate(env, ["bon", "iad"], 4, agent=Guesser(), verifier=Liker(), n=[1, 2], out=out)

    results = run(EasyDials, tmp_path / "easy")
    for table in (results.table(), read_results(tmp_path / "easy").table()):
        assert table.count("(progress >= 0.5)") == 4, "scores, by difficulty, differences, curves"
    assert ">=" not in run(DialsEnv, tmp_path / "plain").table()
    rules = [of(tmp_path / one, "summary")["success_rule"] for one in ("easy", "plain")]
    assert rules == ["progress >= 0.5", ""]
    earlier = of(tmp_path / "easy", "config")  # of a version that doesn't say so
    del earlier["success_rule"]
    (tmp_path / "easy" / "config.json").write_text(json.dumps(earlier))
    assert run(EasyDials, tmp_path / "easy").records == results.records


OURS = "proxy oracle judge:gpt-4o-mini alone:proxy terminal-oracle:proxy noisy:0.2:judge:module:name"
OURS += " sparse:low:alone:noisy:1:proxy calibrated:-1:4:proxy"
AROUND_THEIRS = ("", "alone:", "noisy:0.2:", "calibrated:-1:4:", "sparse:low:alone:")


def test_a_name_tells_whose_a_verifier_is() -> None:
    theirs = ["", "Liker", *(f"{around}module:Verifier" for around in AROUND_THEIRS)]
    for name, expected in [*((name, True) for name in OURS.split(" ")), *((name, False) for name in theirs)]:
        assert is_own(name, SHOP) is expected
        assert is_own(name, "Nobody/Knows-v0") is (expected and "proxy" not in name)  # whose proxy is its author's


def test_results_become_a_data_frame(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    frame = evaluate(SHOP, ("single", "bon"), 3, n=2).to_pandas()
    assert len(frame) == 6
    n_steps = frame.groupby("row").n_steps.sum()
    assert list(frame.groupby("row").proposals.sum()) == [2 * n_steps["bon"], n_steps["single"]]


def test_strategies_agents_verifiers_and_environments_may_be_ones_own(tmp_path: Path) -> None:
    strategies = {"single": "single", "mine": last}
    results = evaluate(DialsEnv, strategies, 4, agent=Guesser(), verifier=Liker(), n=3, out=tmp_path)
    assert list(results.records) == ["single", "mine"]
    mine = results.records["mine"][0]
    assert (mine.env, mine.agent, mine.verifier, mine.n) == ("DialsEnv", "Guesser", "Liker", 3)
    assert mine.spent.proposals == 3 * mine.n_steps
    assert read_results(tmp_path).table() == results.table()


def test_a_function_is_an_agent_and_several_are_compared() -> None:
    def ones(observation: str, info: Any) -> str:
        return "turn[1]"

    def twos(observation: str, info: Any) -> Candidate:
        return Candidate("turn[2]")

    run = partial(evaluate, DialsEnv, "single", 2, agent=[ones, twos], verifier="none", seed=[0, 1])
    results = run()
    assert not results.figures().differences, "each agent has a baseline of its own"
    acted = {row: (len(own), own[0].actions) for row, own in results.records.items()}
    assert acted == {"single ones": (4, ("turn[1]",) * 3), "single twos": (4, ("turn[2]",) * 3)}
    compared = run(baseline="single twos")
    assert {row: one.baseline for row, one in compared.figures().differences.items()} == {"single ones": "single twos"}
    assert "Difference to single twos on the same tasks (as asked)" in compared.table()
    with pytest.raises(UnknownName, match=r"'single three'.*single ones, single twos"):
        run(baseline="single three")


def test_feedback_that_an_agent_does_not_take_is_said_and_iad_is_then_best_of_n(tmp_path: Path) -> None:
    class Deaf(Guesser):
        takes_feedback = False

    def run(agent: Any, **asked: Any) -> Any:
        return evaluate(DialsEnv, ["bon", "iad"], 4, agent=agent, verifier=Liker(), n=3, **asked)

    deaf = run(Deaf(), out=tmp_path)
    assert "*** FEEDBACK WAS DROPPED: Deaf takes none" in " ".join(deaf.table().split())
    bon, iad = deaf.records.values()
    assert [one.actions for one in bon] == [one.actions for one in iad]
    recorded = Run(tmp_path)
    decisions = [step.decision for key in recorded.records for step in recorded.episode(key).steps]
    assert all(one.feedback is None for decision in decisions for one in decision.candidates)
    dropped = [FEEDBACK_DROPPED in decision.notes for decision in decisions]
    assert dropped.count(True) == sum(record.n_steps for record in iad)
    assert "FEEDBACK WAS DROPPED" not in run(Guesser()).table()
    assert "FEEDBACK WAS DROPPED" not in run(Deaf(), feedback="none").table()


def test_changed_code_is_another_run(tmp_path: Path) -> None:
    def agent(observation: str, info: Any) -> str:
        return "turn[1]"

    evaluate(DialsEnv, "single", 1, agent=agent, verifier="none", out=tmp_path)

    def changed(observation: str, info: Any) -> str:
        return "turn[2]"

    changed.__name__ = "agent"
    run = partial(evaluate, DialsEnv, "single", agent=changed, verifier="none", out=tmp_path)
    with pytest.raises(RunFolderError, match=r"test_evaluate.agent was changed.*--accept-agent"):
        run(1)
    answers = (tmp_path / "answers.jsonl").read_text()
    assert "agent are of 2 versions of its code" in run(2, accept_agent=True).table()
    assert (tmp_path / "answers.jsonl").read_text().startswith(answers), "recorded answers are kept"
    assert "agent are of 2 versions" in read_results(tmp_path).table()
    assert any("of 2 versions" in alarm for alarm in run_json(Run(tmp_path))["alarms"])


def test_an_edit_elsewhere_in_a_file_is_no_change_of_the_agent_in_it(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    source = """
PROMPT = "turn"
MOST: int = 3
def helper(digit):
    return f"{PROMPT}[{digit}]"
class Agent:
    def propose(self, state, *, feedback, temperature, rng):
        return Candidate(helper(min(1, MOST)))
from iad_policy import Candidate
"""

    def parts(text: str) -> dict[str, str]:
        (tmp_path / "their_agents.py").write_text(text)
        linecache.checkcache()
        sys.modules.pop("their_agents", None)
        return source_parts(import_module("their_agents").Agent())

    was = parts(source)
    assert [name.rpartition(".")[2] for name in sorted(was)] == ["Agent", "MOST", "PROMPT", "helper"]
    assert parts(source.replace("MOST: int", "def other(): pass  # a comment\nMOST: int")) == was
    for old, new in (("= 3", "= 4"), ('"turn"', '"go"'), ("[{digit}]", "{digit}"), ("min(1", "max(1")):
        now = parts(source.replace(old, new))
        assert sum(now[name] != was[name] for name in was) == 1


@pytest.mark.parametrize("name", ["config.json", "answers.jsonl", "report.html"])
def test_a_report_that_fails_is_a_warning_and_takes_no_results_with_it(name: str, tmp_path: Path) -> None:
    def spoil(summary: Any) -> None:
        if name == "config.json":
            (tmp_path / name).write_text("{")
            return
        (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / name / "in the way").mkdir(parents=True)

    # A tracker that damages the folder before the report is written.
    spoiler = Mock(spec_set=["on_episode", "on_summary", "close"])
    spoiler.on_summary.side_effect = spoil
    asked: dict[str, Any] = {"agent": Guesser(), "verifier": Liker(), "track": lambda folder, recorded: spoiler}
    with pytest.warns(UserWarning, match="the results are kept"):
        results = evaluate(DialsEnv, ["single", "bon"], 2, out=tmp_path, **asked)
    assert (results.n_episodes, (tmp_path / "report.html").is_file()) == (4, False)


def test_bad_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="name one that iad wrote"):
        read_results(tmp_path)
    for asked, given, error, said in (
        ((SHOP, "single", 1), {"worker": 3}, UnknownName, "near: workers"),
        ((SHOP, "iadd", 1), {}, UnknownName, "near: iad"),
        ((DialsEnv, "single", 1), {"agent": [Guesser(), Guesser()], "verifier": "none"}, ValueError, "two named"),
    ):
        with pytest.raises(error, match=said):
            evaluate(*asked, **given)  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="row of the table"):
        evaluate(SHOP, "single", 1).compare("single", "iad")


def test_an_environment_with_arrays_in_its_info_gets_its_report(tmp_path: Path) -> None:
    evaluate(TAXI, ["single"], 1, agent="random", verifier="none", out=tmp_path)
    assert (tmp_path / "report.html").stat().st_size


class Hits:
    """Knows by the preview which guess is right."""

    information, needs_preview = "proxy", True

    def verify(self, state: State, candidates: Any) -> list[Verdict]:
        return [Verdict(float(one.preview.observation == 3)) for one in candidates]


class Imagined:
    """Answers every guess of the number game with a hit, whatever the game keeps."""

    identity, is_perfect, uses_world = "imagined", False, False

    def __init__(self, name: str = "imagined") -> None:
        self.name = name

    def begin(self, world: Any, state: State) -> str:
        return "start"

    def simulate(self, world: Any, token: str, action: Any, draw: int) -> Outcome:
        return Outcome("hit", 3, {}, done=True, key="hit")


class Knower(Guesser):
    information = "oracle"


def liker(information: Information, **name: str) -> Liker:
    made = Liker()
    vars(made).update(information=information, **name)
    return made


def guess(observation: int, info: Any, rng: Any) -> int:
    return int(rng.randrange(10))


def first_word(observation: str, info: Any) -> str:
    return f"search[{info['instruction'].split()[0]}]"


def metered(observation: str, info: Any) -> str:
    report_usage(prompt_tokens=100, completion_tokens=5, usd=0.25)
    report_usage(completion_tokens=2, usd=0)
    return first_word(observation, info)


async def metered_later(observation: str, info: Any) -> str:
    return metered(observation, info)


def free(observation: str, info: Any) -> str:
    report_usage()
    return first_word(observation, info)


def unpriced(observation: str, info: Any) -> str:
    report_usage(prompt_tokens=100)
    return first_word(observation, info)


def half(observation: str, info: Any) -> str:
    return first_word(observation, info) if info["step"] else metered(observation, info)


def of_candidate(observation: str, info: Any) -> Candidate:
    return Candidate(first_word(observation, info), usage=Usage(prompt_tokens=7))


def answering(answer: Completion) -> LanguageAgent:
    return LanguageAgent(ScriptedModel(repeat(answer)), reask=0)


TEA = "Action: search[tea]"
DIALS: dict[str, Any] = {"env": DialsEnv, "strategies": "bon", "agent": Guesser()}
SHOPPING: dict[str, Any] = {"env": SHOP, "strategies": "single", "verifier": "none", "env_args": {"max_steps": 4}}
GAME: dict[str, Any] = {"env": "Toy/NumberGame-v0", "strategies": ["single", "bon"], "agent": guess}
LIKER_OF = "tests.iad_policy.evaluation_toy:LikerOf"
SAID: dict[str, dict[str, Any]] = {
    # what its parts know, and whose word that is
    "proxy": {**DIALS, "verifier": Liker()},
    "oracle agent": {**DIALS, "agent": Knower(), "verifier": Liker()},
    "self": {**DIALS, "verifier": liker("self")},
    "learned": {**DIALS, "verifier": liker("learned")},
    "by name": {**DIALS, "verifier": LIKER_OF},
    "by name, alone": {**DIALS, "verifier": f"alone:{LIKER_OF}"},
    "oracle": {**DIALS, "verifier": liker("oracle")},
    # what simulated; nobody could guess so well as with the preview
    "fork": {**GAME, "verifier": Hits(), "n": 20, "env_args": {"is_copyable": True}},
    "replay": {**GAME, "verifier": Hits(), "n": 20, "env_args": {"is_copyable": False}},
    "noisy fork": {**GAME, "verifier": Hits(), "n": 3, "simulator": "noisy:0.9"},
    "the game's own": {**SHOPPING, "strategies": ["single", "bon"], "n": 2, "verifier": "proxy", "agent": "shopper"},
    "nothing": {**GAME, "strategies": ["single", "bon-sc"], "verifier": "none", "n": 3},
    "imagined": {**GAME, "verifier": Hits(), "n": 2, "simulator": Imagined()},
    # what a function does not report is unmetered and not 0
    **{one.__name__: {**SHOPPING, "agent": one} for one in (first_word, metered, metered_later, free, half, unpriced)},
    "of a candidate": {**SHOPPING, "agent": of_candidate},
    "several n": {**SHOPPING, "strategies": "bon-sc", "n": [1, 2], "agent": first_word},
    # answers that were cut off
    "whole": {**SHOPPING, "agent": answering(Completion(TEA)), "cache": False},
    "at max_tokens": {**SHOPPING, "agent": answering(Completion(TEA, finish_reason="length")), "cache": False},
    "at the longest": {**SHOPPING, "agent": answering(Completion(f"{TEA}\n{'so ' * 1_000_000}")), "cache": False},
}
FACTS = ("alarms", "verifier", "information", "label", "simulator")
AXES = ("success", "n_episodes", "simulated_by", "n_cut_off", "tokens", "usd", "n_unmetered", "n_unpriced")


def test_what_a_run_says_of_its_parts_was_looked_at(tmp_path: Path) -> None:
    """In its summary, and so in its table and on its page."""
    said = {}
    for name, how in SAID.items():
        folder = tmp_path / name
        results = evaluate(tasks=2, out=folder, **how)
        summary, shown = of(folder, "summary"), run_json(Run(folder))
        rows = {row: [one[axis] for axis in AXES] for row, one in summary["strategies"].items()}
        n_points = [len(one["points"]) for one in summary["curves"] if one["axis"] in ("proposals", "tokens")]
        said[name] = {**{fact: summary[fact] for fact in FACTS}, **rows, "n_points": n_points}
        assert [shown[fact] for fact in FACTS] == [summary[fact] for fact in FACTS]
        assert read_results(folder).table() == results.table(), "from the record"
    require_snapshot("evaluated.json", said)


def test_an_interrupted_episode_that_simulated_says_so_when_its_answers_are_replayed(tmp_path: Path) -> None:
    how: dict[str, Any] = {**GAME, "strategies": "bon", "verifier": Hits(), "n": 3, "out": tmp_path}
    first = evaluate(tasks=2, **how)
    (tmp_path / "episodes.jsonl").write_text("")
    again = evaluate(tasks=2, **how)
    assert again.records["bon"] != first.records["bon"]  # they were run again, and took other seconds
    assert of(tmp_path, "summary")["simulator"] == "fork (sees hidden state)"


def test_nobody_else_has_the_name_of_one_of_ours() -> None:
    simulated = [{**GAME, "verifier": Hits(), "simulator": Imagined(name)} for name in ("perfect", "noisy:1")]
    for how in ({**DIALS, "verifier": liker("proxy", name="proxy")}, *simulated):
        with pytest.raises(ValueError, match="a name of its own, got "):
            evaluate(tasks=1, **how)


def test_a_report_outside_of_a_run_is_harmless_and_nonsense_is_refused() -> None:
    report_usage(prompt_tokens=3)
    for wrong in ({"prompt_tokens": -1}, {"completion_tokens": float("inf")}, {"usd": float("nan")}):
        with pytest.raises(ValueError, match=r"or more, got .*report what the call has spent"):
            report_usage(**wrong)
