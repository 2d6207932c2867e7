"""Our environments in TRL's own trainer (`make bridges BRIDGES=trl`): a step of a tiny model, and the example."""

import os
import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from iad_policy import IADPolicyWrapper
from iad_policy.bridges.chat import OVER, Chat
from iad_policy.bridges.trl import grpo_dataset, grpo_environment, log_outcomes
from iad_policy.models.local.files import fetched
from tests.full.played import BASH, SHOP
from tests.full.processes import examples, needing, python
from tests.full.tiny import CHATML, QUIET, byte_tokenizer, tiny_model
from tests.iad_policy.playing import play

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # environments are a new feature of TRL

pytestmark = needing("trl", "torch", how="make bridges BRIDGES=trl")
GOLD = re.compile(r"reward|reference|score|progress|success", re.IGNORECASE)
END = "<|im_end|>"


def call(action: str) -> str:
    """What a model writes to call the tool."""
    return '<tool_call>\n{"name": "act", "arguments": {"action": "' + action + '"}}\n</tool_call>' + END


def tokenizer() -> Any:
    from trl.chat_template_utils import qwen2_5_chat_template

    return byte_tokenizer(qwen2_5_chat_template, CHATML)


def trainer(answers: list[list[str]], tmp_path: Path, **given: Any) -> Any:
    """Return a trainer of a tiny model, whose n-th completion says the n-th list of answers, one after another."""
    import torch
    from trl import GRPOConfig, GRPOTrainer

    read: list[str] = []
    left = [list(said) for said in answers]

    class ScriptedTrainer(GRPOTrainer):
        def _generate_single_turn(self, prompt_ids: Any, *args: Any, **options: Any) -> Any:
            read.extend(self._tokenizer.decode(ids) for ids in prompt_ids)
            speaking = [said for said in left if said]  # who said nothing more has no call, so is not asked
            assert len(speaking) == len(prompt_ids)
            texts = [said.pop(0) for said in speaking]
            return [self._tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts], None

    fixed: dict[str, Any] = {"max_steps": 1, "num_generations": 2, "max_completion_length": 6000, **QUIET}
    fixed["per_device_train_batch_size"] = len(answers)
    args = GRPOConfig(output_dir=str(tmp_path), learning_rate=1e-3, **fixed)
    torch.manual_seed(0)
    made = ScriptedTrainer(tiny_model(n_layers=1), args=args, processing_class=tokenizer(), **given)
    made.read = read
    return made


def test_a_training_step_has_the_environments_reward(tmp_path: Path) -> None:
    import torch

    row = grpo_dataset(SHOP, n=2)[1]
    env = gym.make(SHOP, split="train")
    policy = IADPolicyWrapper("shopper:0", env, strategy="single")
    actions, reward, _ = play(env, policy, seed=row["seed"], options={"task_id": row["task_id"]})
    assert reward > 0
    n = len(actions)
    one = [*map(call, actions), call("search[more]"), call("click[buy now]"), f"Done.{END}"]
    other = [call("search[shirt]"), call("what?"), f"I give up.{END}"]
    seen: list[tuple[float, Any]] = []
    said: list[list[str]] = []

    def see(environments: list[Any], completions: Any, **others: Any) -> list[None]:
        seen.extend((environment.get_reward(), environment.outcome) for environment in environments)
        said.extend([message["content"] for message in completion] for completion in completions)
        return [None] * len(environments)

    data, shop = grpo_dataset(SHOP, n=2).select([1]), grpo_environment(SHOP)
    options: dict[str, Any] = {"train_dataset": data, "environment_factory": shop, "reward_funcs": [log_outcomes, see]}
    made = trainer([one, other], tmp_path, **options)
    assert [tool.__name__ for tool in made.tools] == ["act"]
    before = {name: weights.detach().clone() for name, weights in made.model.named_parameters()}
    made.train()

    ((earned, outcome), (nothing, gave_up)) = seen
    assert (earned, outcome.steps) == (pytest.approx(reward), n)
    assert (nothing, gave_up.steps, gave_up.invalid) == (0.0, 2, 1)
    logged = last_log(made)
    assert logged["reward"] == logged["rewards/WebShop/mean"] == pytest.approx(reward / 2)
    expected = {"frac_reward_zero_std": 0, "WebShop/steps": (n + 2) / 2, "WebShop/invalid": 0.5}
    expected |= {"tools/call_frequency": (n + 4) / 2, "tools/failure_frequency": 0}
    assert {name: logged[name] for name in expected} == expected
    assert any(not torch.equal(before[name], weights) for name, weights in made.model.named_parameters())
    # Calls after the end are answered, and change nothing.
    assert said[0][2 * n - 1 :: 2] == [OVER] * 3
    assert "unreadable answer" in said[1][3]
    # What is read is the chat's prompt with the tool in it, and its turns.
    with Chat(SHOP, "tool", split="train") as chat:
        messages = chat.begin(task_id=row["task_id"], seed=row["seed"])
        options = {"tools": made.tools, "add_generation_prompt": True, "tokenize": False}
        prompt = made.processing_class.apply_chat_template(messages, **options)
        assert made.read[:2] == [prompt, prompt]
        assert said[0][1 : 2 * n : 2] == [chat.say(action) for action in actions]
    assert '"name": "act"' in prompt
    assert [GOLD.findall(text) for text in made.read] == [[]] * len(made.read)


def last_log(made: Any) -> dict[str, Any]:
    (logged,) = [line for line in made.state.log_history if "reward" in line]
    return dict(logged)


def test_environments_are_mixed_by_a_column(tmp_path: Path) -> None:
    from datasets import concatenate_datasets

    envs = {"shop": SHOP, "shell": BASH}
    data = concatenate_datasets([grpo_dataset(env, n=1, environment=name) for name, env in envs.items()])
    factory = {name: grpo_environment(env) for name, env in envs.items()}
    options: dict[str, Any] = {"train_dataset": data, "environment_factory": factory, "reward_funcs": [log_outcomes]}
    made = trainer([[call("echo 1"), f"Done.{END}"]] * 4, tmp_path, **options)
    made.train()
    logged = last_log(made)
    assert (logged["WebShop/invalid"], logged["InterCodeBash/invalid"]) == (1, 0)
    assert {"rewards/WebShop/mean", "rewards/InterCodeBash/mean"} <= set(logged)


def test_the_trainer_of_the_documentation_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = examples("trl.md", "from trl import")
    namespace: dict[str, Any] = {"model": tiny_model(n_layers=1), "tokenizer": tokenizer()}
    exec(compile(block, "docs/bridges/trl.md", "exec"), namespace)
    assert [tool.__name__ for tool in namespace["trainer"].tools] == ["act"]


@pytest.mark.alone
@pytest.mark.timeout(5100)
def test_the_example_trains_a_language_model_on_the_shop(tmp_path: Path) -> None:
    """SmolLM2-135M, cloned and then trained: a group of it had unequal rewards, and its weights changed."""
    from safetensors.torch import load_file

    try:
        fetched("smollm2")
    except ValueError as error:
        pytest.skip(f"SmolLM2 can't be fetched: {error}")
    # Alone on two cores it takes six minutes. The limit ends what hangs, and no machine that is busy.
    said = python("examples/grpo.py", "--demos", 24, "--updates", 3, "--out", tmp_path, timeout_s=5000)
    print(said)
    updates = [line for line in said.splitlines() if line.startswith("update ")]
    groups = [re.findall(r"\d\.\d\d", line.partition(": ")[2].partition(",")[0]) for line in updates]
    assert [len(group) for group in groups] == [4] * 3
    assert any(len(set(group)) > 1 for group in groups), said
    trained = load_file(tmp_path / "trained" / "adapter_model.safetensors")
    # Adapters begin with a second factor of zero.
    assert any(weights.any() for name, weights in trained.items() if "lora_B" in name)
