"""The papers' settings: every preset holds together, is printed, and gives way to what stands on the command line."""

import inspect
import json
import re
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.envs.registration import load_env_creator

import iad_envs
from iad_policy.agents import asks_a_model
from iad_policy.agents.language import OPTIONS
from iad_policy.errors import UnknownName
from iad_policy.ledger.run import Run
from iad_policy.papers import Experiment, experiments, find_experiment, load_comparison
from iad_policy.registry.domain import domain_by_id
from iad_policy.report.viewer.shown import run_json
from iad_policy.run.config import MAPPINGS, RunConfig, one_or_all
from iad_policy.run.presets import applied
from iad_policy.strategies import STRATEGIES, find_strategy, options_of
from tests.command_line import iad

PRESETS = experiments()
ROOT = Path(__file__).parents[3]
QUICK = ("iad/bird", "lats/webshop", "artis/bfcl")
"""The presets that `make test` runs too: one of each kind of settings, where an episode is short."""


def flat(settings: Any) -> dict[str, Any]:
    """Parts of a configuration by name, those in mappings as `part.name`."""
    return {
        f"{key}.{argument}" if key in MAPPINGS else key: one
        for key, value in settings.items()
        for argument, one in (value.items() if key in MAPPINGS else [("", value)])
    }


def without_model(name: str) -> str:
    """An agent in a preset's environment that asks no model."""
    return domain_by_id(PRESETS[name].env).agent or "solution:0.4"


def configured(name: str, **given: Any) -> tuple[RunConfig, str]:
    preset = PRESETS[name]
    parts = {"env": preset.env, "agent": without_model(name), "strategies": preset.strategies, **given}
    settings, lines = applied(name, preset, parts, takes_sampling=asks_a_model(parts["agent"]))
    return RunConfig(**settings), "\n".join(lines)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_names_what_there_is_and_all_of_it_is_used_and_said(name: str) -> None:
    preset = PRESETS[name]
    assert all(name.partition("/"))
    assert preset.env in iad_envs.ENVIRONMENTS
    assert set(preset.strategies) <= set(STRATEGIES)
    assert not preset.agent or asks_a_model(preset.agent)
    stated, ours = flat(preset.stated), flat(preset.ours)
    assert not set(stated) & set(ours)
    entry = gym.spec(preset.env).entry_point
    assert isinstance(entry, str)
    known = {"env_args": inspect.signature(load_env_creator(entry)).parameters, "agent_args": OPTIONS}
    for settings, (part, names) in product((preset.stated, preset.ours), known.items()):
        assert set(settings.get(part, ())) <= set(names)
    config, said = configured(name, agent="composite:some-model")
    for key, value in {**ours, **stated}.items():
        value = value.format(model="some-model") if isinstance(value, str) else value
        part, _, argument = key.partition(".")
        held = getattr(config, part)
        assert (held[argument] if part in MAPPINGS else one_or_all(held) if isinstance(held, tuple) else held) == value
        assert f"{argument or part} = {value}" in said
    assert (config.tasks, config.preset, preset.source in said) == (None, name, True)
    for strategy in config.strategies:
        assert set(config.options(strategy)) <= set(options_of(find_strategy(strategy)))
    # The paper's model and figures, and when it is no reproduction.
    assert preset.model
    assert any(character.isdigit() for character in preset.published) or "curve" in preset.published
    there = f"There with: {preset.model}. {preset.published}"
    lines = configured(name)[1].splitlines()
    assert ("no reproduction" in lines[1], without_model(name) in lines[1], lines[2]) == (True, True, there)
    lines = configured(name, agent=f"{preset.agent or 'litellm'}:m")[1].splitlines()
    assert there in lines
    assert not any("no reproduction" in line for line in lines)


def test_a_preset_s_settings_fit_any_strategy_of_your_choice_and_an_unknown_one_is_refused() -> None:
    for name, strategy in product(PRESETS, STRATEGIES):
        config, _ = configured(name, strategies=(strategy,))
        assert config.strategies == (strategy,), name
        assert set(config.options(strategy)) <= set(options_of(find_strategy(strategy))), (name, strategy)
    preset = Experiment(env="IAD/WebShop-v0", source="nowhere", strategies=("mtcs",))
    given = {"env": preset.env, "agent": "shopper", "strategies": preset.strategies}
    assert find_experiment("lats/webshop", "iad_envs:IAD/WebShop-v0").env == "IAD/WebShop-v0"
    with pytest.raises(UnknownName, match="near: mcts"):
        applied("x/webshop", preset, given, takes_sampling=False)


def test_what_the_command_line_says_goes_before_a_preset() -> None:
    config, said = configured("iad/webshop", n=5, temperature=0.9, agent="litellm:x", agent_args={"max_tokens": 7})
    assert (config.n, config.temperature) == ((5,), 0.9)
    assert config.options("bon-sc") == {"n": 5, "temperature": 0.9}
    assert config.agent_args == {"reask": 0, "top_p": 1, "max_tokens": 7}
    assert "Set otherwise here: n = 5 (there 3), temperature = 0.9 (there 0.1)" in said
    assert "bon-sc.temperature" not in said.partition("Set otherwise")[0]
    config, said = configured("iad/webshop", strategy_args={"bon-sc.temperature": 0.2})
    assert (config.options("bon-sc")["temperature"], config.options("iad")["temperature"]) == (0.2, 0.1)
    assert "bon-sc.temperature = 0.2 (there 0.6)" in said
    config, _ = configured("lats/webshop", env_args={"max_steps": 3})
    assert config.env_args == {"max_steps": 3}


def test_what_does_not_fit_the_agent_is_left_out_and_said_to_be() -> None:
    config, said = configured("iad/sketch2code")
    assert config.agent_args == {}
    assert "Not used, as the agent asks no model: max_tokens = 4096, top_p = 1" in said
    assert "The paper's agent is another: --agent composite:<model>" in configured("agent-q/webshop")[1]
    assert "another" not in configured("agent-q/webshop", agent="composite:m")[1]
    # A difference is printed with the runs that it is about.
    assert "Differs from the paper: The paper's image score is CLIP's." in said
    assert "features of the page" not in said  # which is about what is trained
    assert "CLIP" not in configured("iad/webshop")[1]
    # Of an agent of your own nobody knows the model.
    assert "mine:Agent is your own, and nothing here knows" in configured("iad/webshop", agent="mine:Agent")[1]
    preset = PRESETS["iad/webshop"]
    given = {"env": preset.env, "agent": ("litellm:m", "random", "shopper"), "strategies": preset.strategies}
    lines = applied("iad/webshop", preset, given, takes_sampling=False)[1]
    assert lines[1].endswith("the agent random or shopper asks no language model")


@pytest.mark.parametrize(
    ("agent", "verifier"),
    [
        ("litellm:gpt-4o", "judge:gpt-4o"),
        ("local:smollm2", "judge:local:smollm2"),
        ("react:hf:x", "judge:hf:x"),
        ("solution:0.5", None),
    ],
)
def test_a_judge_of_a_preset_is_the_agents_model_and_is_left_out_without_one(agent: str, verifier: str | None) -> None:
    """In BIRD the judge gives the reward and the text for the revision (arXiv 2504.01931 v2, A.5 and B.1)."""
    config, said = configured("iad/bird", agent=agent)
    assert (config.verifier, config.feedback) == ((verifier or "",), "best-worst-judge")
    assert config.instruct == "improve"
    assert ("Not used, as the agent asks no model: verifier = judge:<model>" in said) == (verifier is None)
    assert configured("iad/bird", agent=agent, verifier=("oracle",))[0].verifier == ("oracle",)


@pytest.mark.parametrize("name", ["iad/sketch2code", "iad-v1/sketch2code"])
def test_the_sketches_preset_has_a_critic_that_sees_the_reference_and_says_so(name: str) -> None:
    """Self-Refine has none: its critique is the agent's own."""
    config, said = configured(name)
    assert config.roles == {"sk2code-feedback.critic": "reference", "iad-fb.critic": "reference"}
    assert re.search(r"Stated there:.* iad-fb\.critic = reference", said)
    assert set(configured(name, strategies=("bon", "iad-fb"))[0].roles) == {"iad-fb.critic"}
    assert configured(name, roles={"critic": "template"})[0].roles == {"critic": "template"}
    arms = load_comparison("iad", config.env).arms
    oracles = {arm.strategy for arm in arms.values() if arm.options.get("roles") == {"critic": "reference"}}
    assert oracles == {"sk2code-feedback", "iad-fb"}


def test_in_artis_models_score_and_evaluate_where_there_is_one() -> None:
    config, _ = configured("artis/bfcl", agent="litellm:m")
    assert config.verifier == ("judge:m",)
    assert not config.roles  # by default the agent's model is the evaluator
    assert "verifier = judge:<model>" in configured("artis/bfcl", agent="solution:0.5")[1]


PAPER_FILES = [import_module(f"iad_policy.papers.{name}") for name in ("iad", "agentq", "qstar", "artis")]


@pytest.mark.parametrize("paper", PAPER_FILES, ids=lambda paper: paper.__name__.rpartition(".")[2])
def test_each_numbered_detail_of_a_paper_is_shown_by_a_test_or_said_to_differ(paper: Any) -> None:
    numbers = [re.match(r"(\d+)[a-z]? ", name) for name in (*paper.SHOWN, *paper.DIFFERS)]
    assert all(numbers)
    found = sorted({int(number[1]) for number in numbers if number})
    assert found == list(range(1, found[-1] + 1))
    assert not paper.SHOWN.keys() & paper.DIFFERS.keys()
    for test in paper.SHOWN.values():
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), test
    assert all(one.says.endswith(".") for one in paper.DIFFERS.values())


def test_a_preset_is_printed_with_the_run_and_recorded(tmp_path: Path) -> None:
    done = iad("compare", "--preset", "iad/webshop", "--tasks", 2, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    shown, alarm = " ".join(done.stdout.split()), "This is no reproduction of the paper: the agent shopper asks no"
    for part in (
        "Preset iad/webshop: arXiv 2504.01931 v2",
        "Stated there: n = 3, temperature = 0.1 (v1), bon-sc.temperature = 0.6 (v1), iad.stop = passed (v1)",
        "feedback = best-worst, instruct = reflect (v1)",
        f"{alarm} language model",
        "There with: Gemini 1.5 Pro and GPT-4o. Success in per cent on AgentBoard's 251 goals",
        "Not stated there, so ours: delta = 0.0",
    ):
        assert part in shown
    assert f"{alarm} language model" in run_json(Run(tmp_path))["notes"]
    config = json.loads((tmp_path / "config.json").read_text())
    assert (config["preset"], config["temperature"]) == ("iad/webshop", 0.1)
    assert config["strategy_args"] == {"bon-sc.temperature": 0.6, "iad.stop": "passed"}


def test_run_takes_the_preset_s_own_method_and_a_subset_is_drawn_by_the_seed_and_cut_by_tasks(tmp_path: Path) -> None:
    def tasks(name: str, *arguments: object) -> list[str]:
        done = iad("run", *arguments, "--out", tmp_path / name)
        assert done.exit_code == 0, done.output
        return [json.loads(line)["task_id"] for line in (tmp_path / name / "episodes.jsonl").read_text().splitlines()]

    given = ("--preset", "iad/webshop-subset", "--subset", 0.02)
    found = tasks("a", *given)
    assert list(json.loads((tmp_path / "a" / "summary.json").read_text())["strategies"]) == ["iad"]
    assert len(found) == round(0.02 * len(gym.make("IAD/WebShop-v0").unwrapped.task_ids))  # type: ignore[attr-defined]
    assert configured("iad/webshop-subset")[0].subset == 0.2
    single = ("IAD/WebShop-v0", "--strategy", "single", "--subset", 0.02)
    assert tasks("b", *single, "--tasks", 2) == found[:2]
    assert set(tasks("c", *single, "--seed", 1)) != set(found)


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in PRESETS]
)
def test_every_preset_runs_without_a_model(name: str, tmp_path: Path) -> None:
    done = iad("compare", "--preset", name, "--agent", without_model(name), "--tasks", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "ERRORED" not in done.stdout
