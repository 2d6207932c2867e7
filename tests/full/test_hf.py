"""Language models that are trained: on a tiny random one, and a whole pipeline on SmolLM2-135M (`make training`)."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.errors import ModelError
from iad_policy.learn.examples import Examples, weighted
from iad_policy.learn.experience import Experience
from iad_policy.learn.explore import explore
from iad_policy.learn.objectives import Loss, Preference, Stored, squared_error
from iad_policy.learn.train import train
from iad_policy.learn.trainable import NotFinite, Schedule
from iad_policy.models.hf import PACKAGES
from iad_policy.models.loading import load_model as load_client
from iad_policy.trained.heads import Array
from iad_policy.trained.models import TRAINING, Model, ModelFolderError, load_model
from iad_policy.trained.rows import Row
from iad_policy.types import State
from tests.full.tiny import byte_tokenizer, tiny_folder, tiny_model
from tests.iad_policy.learn.bandits import Killed, KilledAfter
from tests.iad_policy.models.local.smollm2 import require_smollm2

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore"),  # theirs
    pytest.mark.skipif(
        any(find_spec(name) is None for name in PACKAGES), reason="the extra training is not installed: make training"
    ),
]
SHOP = "IAD/WebShop-v0"
ROOT = Path(__file__).parents[2]
ASKED = ({"role": "system", "content": "Answer."}, {"role": "user", "content": "Which?"})


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tiny model, as after `hf:`."""
    return str(tiny_folder(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Experience:
    """Demonstrations of the rule-based agent on six tasks."""
    return explore(SHOP, out=tmp_path_factory.mktemp("hf") / "demos", tasks=6, episodes=1, temperature=0.0)


@pytest.fixture(scope="module")
def cloned(spec: str, demos: Experience, tmp_path_factory: pytest.TempPathFactory) -> Model:
    """The tiny model after it imitated two of them."""
    out = tmp_path_factory.mktemp("hf") / "bc"
    return train("bc", demos, out=out, backend=f"hf:{spec}", demos=2, keep=0.5, epochs=2, rate=5e-3)


def backend(spec: str, head: Any = "policy", **options: Any) -> Any:
    from iad_policy.learn.backends.hf import TrainableHFBackend

    return TrainableHFBackend(SHOP, head, spec, **options)


def said(text: str) -> Row:
    return Row(State(None, {}), text, ASKED, text)


def pairs(model: Any, n: int = 3) -> Examples:
    rows = tuple(said(text) for place in range(n) for text in (f"Action: yes {place}", f"Action: no, never {place}"))
    side = np.arange(2.0 * n)
    reference = model.outputs(model.batch(rows))
    return Examples(rows, {"side": side, "p": np.ones(2 * n), "reference": reference}, side // 2, Preference(beta=0.3))


def test_a_log_probability_is_the_sum_over_the_answers_tokens(spec: str) -> None:
    import torch

    model = backend(spec)
    rows = [said("Action: click[b]"), said("Action: search[a longer answer]")]
    found = model.outputs(model.batch(rows))
    weights = model.weights
    for row, sum_ in zip(rows, found, strict=True):
        prompt, answer = weights.prompt_ids(row.prompt), weights.answer_ids(row.text)
        assert weights.text(answer[:-1]) == row.text
        with torch.no_grad():
            likely = weights.model(torch.tensor([prompt + answer])).logits[0].log_softmax(-1)
        one_by_one = [float(likely[len(prompt) + k - 1, token]) for k, token in enumerate(answer)]
        assert sum_ == pytest.approx(sum(one_by_one), abs=1e-3)


def test_dpo_with_stored_likelihoods_is_dpo_with_a_frozen_reference(spec: str) -> None:
    import torch

    from iad_policy.models.hf.likelihood import answer_logprobs

    frozen, model = backend(spec), backend(spec)
    examples = pairs(frozen)
    torch.manual_seed(1)
    for one in model.model.parameters():  # away from the start, where the loss is log 2 whatever the reference
        if one.requires_grad:
            one.data += 0.05 * torch.randn_like(one)
    given = model.batch(examples.rows)
    ids = [one.prompt for one in given], [one.answer for one in given]
    mine = answer_logprobs(model.weights, model.model, *ids)
    with torch.no_grad():
        theirs = answer_logprobs(frozen.weights, frozen.model, *ids)
    ratios = mine - theirs
    loss = -torch.nn.functional.logsigmoid(0.3 * (ratios[0::2] - ratios[1::2])).mean()
    trained = [one for one in model.model.parameters() if one.requires_grad]
    expected = torch.autograd.grad(loss, trained, retain_graph=True)
    value, slopes = examples.objective(mine.detach().double().numpy(), examples.stored)
    found = torch.autograd.grad((mine * torch.tensor(slopes, dtype=mine.dtype)).sum(), trained)
    assert value == pytest.approx(float(loss), abs=1e-5)
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, atol=1e-5)
    moved = {**examples.stored, "reference": examples.stored["reference"] + 0.1 * np.arange(6)}
    assert examples.objective(mine.detach().double().numpy(), moved)[0] != pytest.approx(float(loss), abs=1e-3)


def test_dpo_with_stored_likelihoods_has_trls_loss(spec: str, tmp_path: Path) -> None:
    from datasets import Dataset
    from trl import DPOConfig, DPOTrainer

    model = backend(spec)
    examples = pairs(model)
    stored = {**examples.stored, "reference": examples.stored["reference"] + np.tile([0.0, 0.4], 3)}
    given = model.batch(examples.rows)
    expected, _ = examples.objective(model.outputs(given), stored)
    ours, _ = examples.objective(model.outputs(given), examples.stored)
    data = Dataset.from_list(
        [
            {
                "prompt": list(ASKED),
                "chosen": [{"role": "assistant", "content": examples.rows[place].text}],
                "rejected": [{"role": "assistant", "content": examples.rows[place + 1].text}],
            }
            for place in (0, 2, 4)
        ]
    )
    common: dict[str, Any] = {
        "output_dir": str(tmp_path),
        "per_device_train_batch_size": 3,
        "max_length": None,
        "beta": 0.3,
        "report_to": [],
        "use_cpu": True,
        "bf16": False,
        "max_steps": 1,
        "logging_steps": 1,
        "save_strategy": "no",
        "learning_rate": 0.0,
    }
    trainer = DPOTrainer(
        tiny_model(),
        ref_model=tiny_model(),
        args=DPOConfig(**common),
        train_dataset=data,
        processing_class=byte_tokenizer(),
    )
    trainer.train()
    theirs = next(line for line in trainer.state.log_history if "loss" in line)
    assert theirs["loss"] == pytest.approx(ours, abs=1e-5)
    assert expected != pytest.approx(ours, abs=1e-3)
    sums = model.outputs(given)
    if "logps/chosen" in theirs:
        assert theirs["logps/chosen"] == pytest.approx(sums[0::2].mean(), abs=1e-3)
        assert theirs["logps/rejected"] == pytest.approx(sums[1::2].mean(), abs=1e-3)


def test_preferences_are_learned_and_a_rerun_goes_on(spec: str, tmp_path: Path) -> None:
    first = backend(spec, rate=5e-3)
    schedule = Schedule(epochs=3, batch=2)
    fitted = first.fit(pairs(first), schedule, folder=tmp_path / "whole", seed=1, asked="x")
    losses = [json.loads(line)["loss"] for line in (tmp_path / "whole" / TRAINING).read_text().splitlines()]
    assert losses[0] == pytest.approx(np.log(2), abs=0.02)
    assert np.mean(losses[-2:]) < losses[0]
    assert (fitted.n_epochs, fitted.stopped) == (3, "")

    cut = backend(spec, rate=5e-3)
    examples = pairs(cut)
    killed = replace(examples, objective=KilledAfter(5, examples.objective))
    with pytest.raises(Killed):
        cut.fit(killed, schedule, folder=tmp_path / "cut", seed=1, asked="x")
    again = backend(spec, rate=5e-3)
    found = again.fit(examples, schedule, folder=tmp_path / "cut", seed=1, asked="x")
    assert found.n_epochs == 3
    rows = again.batch(examples.rows)
    assert again.outputs(rows) == pytest.approx(first.outputs(rows), abs=1e-4)
    with pytest.raises(ModelFolderError, match="another"):
        backend(spec).fit(examples, schedule, folder=tmp_path / "cut", seed=1, asked="y")


def test_training_stops_before_the_policy_is_too_far(spec: str, tmp_path: Path) -> None:
    model = backend(spec, rate=0.05, decode="free")
    before = model.identity
    fitted = model.fit(pairs(model), Schedule(epochs=4, batch=3, max_kl=1e-6), folder=tmp_path, asked="x")
    assert "KL from the start" in fitted.stopped
    assert model.identity == before
    lines = (tmp_path / TRAINING).read_text()
    again = backend(spec, rate=0.05, decode="free", seed=5)
    found = again.fit(pairs(again), Schedule(epochs=4, batch=3, max_kl=1e-6), folder=tmp_path, asked="x")
    assert (found.stopped, again.identity) == (fitted.stopped, before)
    assert (tmp_path / TRAINING).read_text() == lines


def test_a_loss_that_is_no_number_stops_and_keeps_what_was_good(spec: str, tmp_path: Path) -> None:
    model = backend(spec)
    examples = replace(pairs(model), objective=lambda logp, stored: Loss(float("nan"), logp))
    before = model.identity
    with pytest.raises(NotFinite, match="smaller rate"):
        model.fit(examples, Schedule(epochs=1, batch=3), folder=tmp_path, asked="x")
    assert model.identity == before


def test_memory_that_does_not_suffice_names_the_option(spec: str, tmp_path: Path) -> None:
    def full(logp: Array, stored: Stored) -> Loss:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    model = backend(spec, micro=2)
    with pytest.raises(MemoryError, match="micro=1"):
        model.fit(replace(pairs(model), objective=full), Schedule(epochs=1, batch=2), folder=tmp_path, asked="x")


def test_what_was_said_is_trained_on_as_it_was_said(spec: str) -> None:
    model = backend(spec)
    (one,) = model.batch([said("Thought: hm\nAction: click[x]")])
    assert model.weights.text(one.answer[:-1]) == "Thought: hm\nAction: click[x]"
    assert "Which?" in model.weights.text(one.prompt)


def test_imitation_makes_the_demonstrations_likelier(spec: str, cloned: Model, demos: Experience) -> None:
    rows = [step.row for one in demos.trajectories for step in one.steps]
    untrained, trained = backend(spec), cloned.backend
    assert trained.outputs(trained.batch(rows)).mean() > untrained.outputs(untrained.batch(rows)).mean() + 5
    again = load_model(cloned.folder)
    assert again.backend.outputs(again.backend.batch(rows[:3])) == pytest.approx(
        trained.outputs(trained.batch(rows[:3]))
    )
    assert json.loads((cloned.folder / "model.json").read_text())["backend"] == f"hf:{spec}"


def test_preferences_go_on_from_a_trained_policy_and_leave_no_checkpoint(cloned: Model, tmp_path: Path) -> None:
    searched = explore(SHOP, how="tree", out=tmp_path / "trees", tasks=4)
    made = train("dpo", searched, out=tmp_path / "dpo", start=cloned.folder, theta=0.05, epochs=2, max_kl=50.0)
    assert made.facts["kl"] >= 0
    assert sorted(path.name for path in made.folder.iterdir()) == [
        "adapter.safetensors", "epochs.json", "model.json", "training.jsonl"
    ]  # fmt: skip
    assert made.trained_on["tasks"][0] == "train-0001"


def test_two_processes_train_as_one(spec: str, demos: Experience, tmp_path: Path) -> None:
    """The same steps as in one process, written once."""
    words = f"train bc RUN --backend hf:{spec} --option demos=2 --option keep=0.5 --option epochs=2 --option batch=4"
    given = words.replace("RUN", str(tmp_path / "demos")).split()
    explore(SHOP, out=tmp_path / "demos", tasks=6, episodes=1, temperature=0.0)
    for n in (1, 2):
        together = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(n)]
        done = subprocess.run(
            [sys.executable, *together, "-m", "iad_policy.cli", *given, "--out", str(tmp_path / f"out-{n}")],
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    logs = [(tmp_path / f"out-{n}" / TRAINING).read_text() for n in (1, 2)]
    one, two = ([json.loads(line)["step"] for line in log.splitlines()] for log in logs)
    assert one == two == list(range(1, len(one) + 1))
    assert load_model(tmp_path / "out-2").facts["recipe"] == "bc"


def test_a_trained_model_acts_in_both_ways(cloned: Model, tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "agent": f"learned:{cloned.folder}",
        "tasks": 2,
        "env_args": {"max_steps": 3},
        "baseline": "single",
    }
    offered = evaluate(SHOP, ["single"], out=tmp_path / "offered", **given)
    assert [record.grounding for record in offered.records["single"]] == [1.0, 1.0]
    free = evaluate(SHOP, ["single"], agent_args={"decode": "free", "max_tokens": 8}, out=tmp_path / "free", **given)
    assert all(record.spent.completion_tokens > 0 for record in free.records["single"])


def test_a_policy_without_words_can_not_write(demos: Experience, tmp_path: Path) -> None:
    made = train("bc", demos, out=tmp_path / "bc", keep=0.5, epochs=2)
    with pytest.raises(ModelFolderError, match="language model for decode=free"):
        evaluate(SHOP, ["single"], agent=f"learned:{made.folder}", agent_args={"decode": "free"}, tasks=1)


def test_a_value_model_is_a_verifier(spec: str, demos: Experience, tmp_path: Path) -> None:
    grown = explore(SHOP, how="tree", out=tmp_path / "trees", tasks=3)
    made = train("qnet", grown, out=tmp_path / "q", backend=f"hf:{spec}", epochs=40)
    losses = [json.loads(line)["loss"] for line in (made.folder / TRAINING).read_text().splitlines()]
    assert losses[-1] < losses[0]
    found = evaluate(
        SHOP, ["bon"], verifier=f"qnet:{made.folder}", tasks=1, n=2, env_args={"max_steps": 3}, baseline="bon"
    )
    assert all(record.spent.verifications for record in found.records["bon"])


def test_a_head_learns_what_it_is_told(spec: str, tmp_path: Path) -> None:
    model = backend(spec, "value")
    rows = [said(f"Action: {name}") for name in ("good", "bad", "good!", "bad!")]
    target = np.array([1.0, 0.0, 1.0, 0.0])
    model.fit(weighted(rows, squared_error, target=target), Schedule(epochs=200), folder=tmp_path, asked="x")
    assert model.outputs(model.batch(rows)) == pytest.approx(target, abs=0.2)


def test_a_language_model_learns_while_it_plays(cloned: Model, tmp_path: Path) -> None:
    given: dict[str, Any] = {"start": cloned.folder, "updates": 2, "tasks": 1, "group": 2, "invalid": 0.1}
    made = train("ppo", SHOP, out=tmp_path / "grpo", advantage="grpo", **given)
    lines = [json.loads(line) for line in (made.folder / TRAINING).read_text().splitlines()]
    assert [line["n_episodes"] for line in lines] == [2, 2]
    with pytest.raises(ValueError, match="advantage=grpo"):
        train("ppo", SHOP, out=tmp_path / "ppo", advantage="ppo", **given)


def test_a_client_repeats_its_samples_and_reports_the_tokens(spec: str) -> None:
    model = load_client(f"hf:{spec}")
    first, again = (model.complete(ASKED, temperature=1.0, max_tokens=12) for _ in range(2))
    assert first.text == again.text
    assert first.logprobs is not None
    assert len(first.logprobs) == first.usage.completion_tokens <= 12
    assert (first.logprob_kind, again.cached_tokens) == ("model", again.usage.prompt_tokens)
    greedy = model.complete(ASKED, temperature=0.0, max_tokens=12)
    assert greedy.logprobs is not None
    assert sum(greedy.logprobs[:1]) >= first.logprobs[0]


def test_tools_and_thinking_are_part_of_a_prompt_and_of_its_beginning(spec: str) -> None:
    from iad_policy.models.hf.client import HFModel

    model = load_client(f"hf:{spec}")
    assert isinstance(model, HFModel)
    tool = {"type": "function", "function": {"name": "find", "parameters": {}}}
    offered = ({**ASKED[0], "tools": [tool]}, ASKED[1])
    with pytest.raises(ModelError, match="whose template would drop them"):
        model.complete(offered, temperature=0.0, max_tokens=2)
    tokenizer = byte_tokenizer()
    begin = "{% if tools %}{{ tools | tojson }}{% endif %}"
    tokenizer.chat_template = f"{begin}{tokenizer.chat_template}{{% if enable_thinking %}}hm{{% endif %}}"
    weights = replace(model.weights, tokenizer=tokenizer, fixed={})
    thinking = HFModel(weights, thinking=True)
    prompts = [weights.prompt_ids(one, thought) for one in (ASKED, offered) for thought in (None, True)]
    assert len({tuple(one) for one in prompts}) == 4
    fixed = [weights.n_fixed(one) for one in (ASKED, offered)]
    assert fixed[1] - fixed[0] == len(prompts[2]) - len(prompts[0]) > len(json.dumps([tool])) / 2
    assert weights.text(prompts[3][: fixed[1]]).startswith(json.dumps([tool])[:10])
    assert thinking.complete(offered, temperature=0.0, max_tokens=2).usage.prompt_tokens == len(prompts[3])
    assert thinking.settings["thinking"] is True
    assert "thinking" not in model.settings


def test_what_can_not_be_loaded_says_so(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(64))
    for name in (broken, tmp_path):
        with pytest.raises(ValueError, match="transformers can load"):
            load_client(f"hf:{name}")


def test_prompts_too_long_for_the_model_say_so(spec: str) -> None:
    model = backend(spec)
    with pytest.raises(ValueError, match="at most 8192 tokens"):
        model.outputs(model.batch([Row(State(None, {}), "x", ({"role": "user", "content": "x" * 9000},), "x")]))


def test_offered_actions_are_sampled_by_their_likelihood(cloned: Model) -> None:
    from iad_policy.types import PublicInfo
    from iad_policy.types.read_only import read_only
    from iad_policy.world import adapt

    env = gym.make(SHOP, split="train")
    observation, info = env.reset(seed=0)
    state = State(read_only(observation), PublicInfo(info, adapt(env).gold_keys), steps_left=15, id="s")
    drawn = [cloned.backend.sample(state, temperature=1.0, rng=Random(seed)) for seed in range(200)]
    likely = {one.action: float(np.exp(one.logprob or 0.0)) for one in drawn}
    assert sum(likely.values()) <= 1 + 1e-6
    best = max(likely, key=likely.__getitem__)
    share = sum(one.action == best for one in drawn) / len(drawn)
    assert share == pytest.approx(likely[best], abs=0.12)
    greedy = cloned.backend.sample(state, temperature=0.0, rng=Random(0))
    assert greedy.action == best
    assert cloned.backend.sample(state, temperature=0.0, rng=Random(0), avoid=[best]).action != best


def test_a_real_model_goes_the_whole_way(demos: Experience, tmp_path: Path) -> None:
    """From demonstrations over trees of its own to a value model that verifies, on SmolLM2-135M."""
    require_smollm2()
    backend, short = "hf:smollm2", {"env_args": {"max_steps": 3}}
    cloned = train("bc", demos, out=tmp_path / "bc", backend=backend, demos=1, keep=0.5, epochs=1)
    agent = f"learned:{cloned.folder}"
    settings = {"strategy_args": {"q-tree.width": 2, "q-tree.depth_expanded": 1}}
    grown = explore(SHOP, agent, how="tree", out=tmp_path / "trees", tasks=1, critic=None, **short, **settings)
    train("qnet", grown, out=tmp_path / "q", backend=backend, epochs=5)
    given: dict[str, Any] = {"tasks": 1, "env_args": {"max_steps": 2}, "baseline": "bon", "n": 2}
    found = evaluate(SHOP, ["bon"], agent=agent, verifier=f"qnet:{tmp_path / 'q'}", **given)
    assert [record.grounding for record in found.records["bon"]] == [1.0]
