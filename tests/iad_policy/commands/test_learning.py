"""`iad explore`, `train` and `improve` at the terminal."""

from pathlib import Path

import pytest

from iad_policy.ledger.run_folder import read_config
from tests.command_line import iad

SHOP = "IAD/WebShop-v0"


def run(*arguments: str | Path) -> str:
    result = iad(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("learning")


def test_from_demonstrations_to_a_comparison(folder: Path) -> None:
    said = run("explore", SHOP, "--tasks", "6", "--episodes", "1", "--temperature", "0", "--out", folder / "demos")
    assert "explored 6 tasks: 6 episodes, mean reward" in said
    said = run("train", "bc", folder / "demos", "--out", folder / "bc", "--option", "demos=3", "--option", "epochs=30")
    assert "30 of 30 epochs" in said
    assert f"Model folder: {folder / 'bc'}" in said.replace("\n", "")
    agent, verifier = f"learned:{folder / 'bc'}", f"qnet:{folder / 'q'}"
    said = run("explore", SHOP, "--agent", agent, "--how", "tree", "--tasks", "4", "--out", folder / "tree")
    assert "explored 4 tasks: 4 episodes" in said
    run("train", "qnet", folder / "tree", "--out", folder / "q", "--option", "epochs=20")
    given = ("--agent", agent, "--verifier", verifier, "--strategies", "single,bon", "--tasks", "3")
    assert "bon" in run("compare", SHOP, *given, "--out", folder / "run")


def test_an_option_of_the_search_is_passed_on(folder: Path) -> None:
    given = ("--how", "mcts", "--option", "n=2", "--option", "k=2", "--tasks", "2", "--critic", "proxy")
    run("explore", SHOP, *given, "--out", folder / "mcts")
    config = (folder / "mcts" / "config.json").read_text()
    assert '"mcts.n": 2' in config
    assert "verifier:proxy" in config


def test_a_simulator_is_trained_from_outcomes(folder: Path) -> None:
    said = run("explore", SHOP, "--how", "outcomes", "--tasks", "4", "--out", folder / "o.jsonl")
    assert "random:" in said
    given = (folder / "o.jsonl", "--env", SHOP, "--out", folder / "sim", "--option", "epochs=30")
    assert "types of outcomes" in run("train", "simulator", *given)
    given = ("--strategy", "artis", "--n", "1", "--simulator", f"learned:{folder / 'sim'}", "--tasks", "2")
    run("run", SHOP, *given, "--out", folder / "ar")


def test_an_evaluator_is_trained_from_runs(folder: Path) -> None:
    for agent in ("shopper", "random"):
        run("explore", SHOP, "--agent", agent, "--tasks", "12", "--episodes", "1", "--out", folder / agent)
    given = (folder / "shopper", folder / "random", "--out", folder / "ev", "--option", "epochs=30")
    assert "evaluator: 24 rows from 24 episodes of 12 tasks" in run("train", "evaluator", *given)
    role = f"evaluator=learned:{folder / 'ev'}"
    run("run", SHOP, "--strategy", "artis", "--n", "1", "--role", role, "--tasks", "2", "--out", folder / "judged")
    assert "learned evaluator" in (folder / "judged" / "config.json").read_text()


def test_improving_ends_with_the_best_agent(folder: Path) -> None:
    given = ("--method", "rft", "--rounds", "1", "--tasks", "4", "--demos", "3", "--dev-tasks", "3")
    assert "Best on dev: round" in run("improve", SHOP, *given, "--agent", "solution", "--out", folder / "i")
    assert read_config(folder / "i" / "demos")["agent"] == "solution"


def test_reproduce_says_what_is_compared_and_takes_an_agent_where_none_is_trained(tmp_path: Path) -> None:
    listed = run("reproduce", "iad", "--list")
    assert listed.count("policies are trained") == 1
    assert listed.count("nothing is trained") == 3
    assert listed.count("Differences from the paper:") == 4
    everything = run("reproduce", "--list")
    titles = ("Agent Q (arXiv", "Agent Q on restaurant booking (", "Q*Agent (", "ARTIS (", "Picture: figure 3a, ")
    for said in (listed.strip(), *titles, "Not compared, settings alone (--preset): intercode/bash, "):
        assert said in everything
    refused = iad("reproduce", "iad", "--agent", "solution:0.5", "--out", str(tmp_path))  # the first that trains none
    assert "language model as the agent" in refused.output


def test_what_needs_a_language_model_is_listed_and_left_out_without_one(tmp_path: Path) -> None:
    listed = run("reproduce", "artis", "--list")
    assert listed.count("nothing is trained, and the agent is a language model (--agent)") == 2
    said = iad("reproduce", "artis", "--simulator", "perfect", "--out", str(tmp_path)).output.replace("\n", " ")
    for env in ("IAD/BFCL-v0", "IAD/ACEBench-v0"):
        assert f"{env} is left out" in said
        assert f"iad reproduce artis --env {env} --agent local:" in said
    assert "expected no simulator for ARTIS" in said  # of the shop, which is not left out
