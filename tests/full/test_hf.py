"""Training of language models: tiny random ones, by ourselves and by TRL on exports (`make training`)."""

import json
import math
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from iad_policy import evaluate
from iad_policy.errors import ModelError, SimulationError
from iad_policy.learn.examples import Examples, NothingToLearn, weighted
from iad_policy.learn.experience import Experience
from iad_policy.learn.explore import explore
from iad_policy.learn.objectives import Loss, Preference, Stored, cross_entropy, squared_error
from iad_policy.learn.simulators import outcome_row, train_simulator
from iad_policy.learn.train import train
from iad_policy.learn.trainable import NotFinite, Schedule
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.models.hf import PACKAGES
from iad_policy.models.loading import load_model as load_client
from iad_policy.report.exports import FORMATS, export_runs
from iad_policy.run.config import FREE
from iad_policy.simulators import load_simulator
from iad_policy.simulators.recorded import Recorded, begun
from iad_policy.trained.heads import Array
from iad_policy.trained.models import TRAINING, Model, ModelFolderError, load_model
from iad_policy.trained.rows import Row
from iad_policy.types import State
from iad_policy.world import adapt
from tests.full.processes import needing, python
from tests.full.tiny import QUIET, byte_tokenizer, tiny_folder, tiny_model
from tests.iad_policy.evaluation_toy import runner
from tests.iad_policy.learn.bandits import Killed, KilledAfter
from tests.iad_policy.models.local.smollm2 import require_smollm2

pytestmark = [*needing(*PACKAGES, how="make training"), pytest.mark.alone, pytest.mark.timeout(900)]
SHOP = "IAD/WebShop-v0"
ASKED = ({"role": "system", "content": "Answer."}, {"role": "user", "content": "Which?"})


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tiny model, as after `hf:`."""
    return str(tiny_folder(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Experience:
    """What the rule-based agent does on six tasks."""
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


def valued() -> Examples:
    names, target = ("good", "bad indeed", "good!", "bad!"), np.array([1.0, 0.0, 0.5, 0.0])
    return weighted([said(f"Action: {name}") for name in names], squared_error, target=target)


def told(folder: Path, what: str) -> list[Any]:
    """What the lines of a training say."""
    return [json.loads(line)[what] for line in (folder / TRAINING).read_text().splitlines()]


def test_a_log_probability_is_the_sum_over_the_answers_tokens_as_they_were_said(spec: str) -> None:
    import torch

    model = backend(spec)
    weights, rows = model.weights, [said("Thought: hm\nAction: click[b]"), said("Action: search[a longer answer]")]
    for row, one, sum_ in zip(rows, model.batch(rows), model.outputs(model.batch(rows)), strict=True):
        prompt, answer = weights.prompt_ids(row.prompt), weights.answer_ids(row.text)
        assert weights.text(answer[:-1]) == weights.text(one.answer[:-1]) == row.text
        assert "Which?" in weights.text(prompt)
        with torch.no_grad():
            likely = weights.model(torch.tensor([prompt + answer])).logits[0].log_softmax(-1)
        one_by_one = [float(likely[len(prompt) + k - 1, token]) for k, token in enumerate(answer)]
        assert sum_ == pytest.approx(sum(one_by_one), abs=1e-3)
    long = Row(State(None, {}), "x", ({"role": "user", "content": "x" * 9000},), "x")
    with pytest.raises(ValueError, match="at most 8192 tokens"):
        model.outputs(model.batch([long]))


def test_imitation_has_the_loss_per_token_and_leaves_out_what_is_too_long(spec: str, tmp_path: Path) -> None:
    import torch

    rows = [said("Action: yes"), said("Action: no, never"), said("Action: " + "very " * 80)]
    model, losses, n_tokens, longest = backend(spec), 0.0, 0, 0
    for one in model.batch(rows[:2]):
        ids = torch.tensor([one.prompt + one.answer])
        labels = torch.where(torch.arange(ids.shape[1]) < len(one.prompt), -100, ids)
        with torch.no_grad():
            losses += float(model.weights.model(ids, labels=labels).loss) * len(one.answer)
        n_tokens, longest = n_tokens + len(one.answer), max(longest, ids.shape[1])
    model, data = backend(spec, max_length=longest), weighted(rows, cross_entropy)
    fitted = model.fit(data, Schedule(epochs=1, batch=2), folder=tmp_path)
    assert told(tmp_path, "loss") == [pytest.approx(losses / n_tokens, abs=1e-4)]
    assert (fitted.n_left_out, fitted.n_epochs) == (1, 1)
    with pytest.raises(NothingToLearn, match=r"at most 3 tokens, got 3 of \d+ or more; pass a greater --option"):
        backend(spec, max_length=3).fit(data, Schedule(epochs=1), folder=tmp_path / "none")


PUBLISHED: dict[str, Any] = {"network": "published", "rate": 1e-3}
RERUNS = [("policy", {"rate": 5e-3}, 3, 2, 5), ("policy", {"rate": 5e-3}, 2, 1, 4), ("value", PUBLISHED, 6, 2, 9)]


@pytest.mark.parametrize(("head", "options", "n_epochs", "batch", "n_calls"), RERUNS)
def test_what_is_learned_is_learned_by_a_rerun_that_goes_on(
    head: str, options: Any, n_epochs: int, batch: int, n_calls: int, spec: str, tmp_path: Path
) -> None:
    first, cut, again = (backend(spec, head, **options) for _ in range(3))
    given: dict[str, Any] = {"schedule": Schedule(epochs=n_epochs, batch=batch), "seed": 1, "asked": "x"}
    examples = pairs(first) if head == "policy" else valued()
    whole = first.fit(examples, folder=tmp_path / "whole", **given)
    losses = told(tmp_path / "whole", "loss")
    assert np.mean(losses[-2:]) < losses[0]
    assert (whole.n_epochs, whole.stopped) == (n_epochs, "")
    assert losses[0] == pytest.approx(np.log(2), abs=0.02) if head == "policy" else whole.loss < 0.2
    n_left = 100
    if batch == 1:  # it is killed one step into the second epoch, and makes no step again
        cut.save_s, n_left = 0.0, len(losses) - n_calls
    killed, counted = (replace(examples, objective=KilledAfter(n, examples.objective)) for n in (n_calls, n_left))
    with pytest.raises(Killed):
        cut.fit(killed, folder=tmp_path / "cut", **given)
    fitted = again.fit(counted, folder=tmp_path / "cut", **given)
    assert (fitted.n_epochs, fitted.loss) == (n_epochs, pytest.approx(whole.loss, abs=1e-4))
    assert told(tmp_path / "cut", "loss") == pytest.approx(losses, abs=1e-4)
    rows = again.batch(examples.rows)
    assert again.outputs(rows) == pytest.approx(first.outputs(rows), abs=1e-4)
    with pytest.raises(ModelFolderError, match="another"):
        backend(spec, head, **options).fit(examples, folder=tmp_path / "cut", **{**given, "asked": "y"})


def test_training_stops_before_the_policy_is_too_far(spec: str, tmp_path: Path) -> None:
    model, again = (backend(spec, rate=0.05, decode="free", seed=seed) for seed in (0, 5))
    before, lines = model.identity, []
    for one in (model, again):  # the second goes on where the first stopped
        fitted = one.fit(pairs(one), Schedule(epochs=4, batch=3, max_kl=1e-6), folder=tmp_path, asked="x")
        assert ("KL from the start" in fitted.stopped, one.identity) == (True, before)
        lines.append((tmp_path / TRAINING).read_text())
    assert lines[0] == lines[1]


@pytest.mark.parametrize("head", ["policy", "value"])
def test_what_can_not_be_trained_names_the_option_and_keeps_what_was_good(head: str, spec: str, tmp_path: Path) -> None:
    def full(logp: Array, stored: Stored) -> Loss:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    def nowhere(logp: Array, stored: Stored) -> Loss:
        return Loss(float("nan"), logp)

    model = backend(spec, head, micro=2, **({"network": "published"} if head == "value" else {}))
    examples, before = pairs(model) if head == "policy" else valued(), model.identity
    for objective, error, words in ((nowhere, NotFinite, "smaller rate"), (full, MemoryError, "micro=1")):
        with pytest.raises(error, match=words):
            model.fit(replace(examples, objective=objective), Schedule(epochs=1, batch=2), folder=tmp_path / words)
        assert model.identity == before


OPTIONS = [
    ("value", "network", "paper", "got 'paper'"), ("policy", "network", "published", "value model"),
    ("value", "loss_at", "every-token", "network=published"), ("value", "loss_at", "all", "got 'all'"),
]  # fmt: skip


@pytest.mark.parametrize(("head", "name", "value", "words"), OPTIONS)
def test_a_value_networks_options_are_checked(head: str, name: str, value: str, words: str, spec: str) -> None:
    with pytest.raises(ValueError, match=words):
        backend(spec, head, **{name: value})


def test_imitation_makes_demonstrations_likelier(spec: str, cloned: Model, demos: Experience, tmp_path: Path) -> None:
    rows = [step.row for one in demos.trajectories for step in one.steps]
    untrained, trained = backend(spec), cloned.backend
    assert trained.outputs(trained.batch(rows)).mean() > untrained.outputs(untrained.batch(rows)).mean() + 5
    again = load_model(cloned.folder).backend
    assert again.outputs(again.batch(rows[:3])) == pytest.approx(trained.outputs(trained.batch(rows[:3])))
    assert json.loads((cloned.folder / "model.json").read_text())["backend"] == f"hf:{spec}"
    searched = explore(SHOP, how="tree", out=tmp_path / "trees", tasks=4)
    made = train("dpo", searched, out=tmp_path / "dpo", start=cloned.folder, theta=0.05, epochs=2, max_kl=50.0)
    assert made.facts["kl"] >= 0
    names = {path.name for path in made.folder.iterdir()}  # no checkpoint
    assert names == {".lock", "adapter.safetensors", "epochs.json", "model.json", "training.jsonl"}
    assert made.trained_on["tasks"][0] == "train-0001"


def test_two_processes_train_as_one(spec: str, tmp_path: Path) -> None:
    """The same steps and parameters as in one, written once. Rows are long: the two compute unequally many parts."""
    import torch
    from safetensors.torch import load_file

    explore(SHOP, out=tmp_path / "demos", tasks=6, episodes=1, temperature=0.0)
    options = "--option demos=2 --option keep=0.5 --option epochs=2 --option batch=4 --option rate=5e-3"
    given = f"train bc {tmp_path / 'demos'} --backend hf:{spec} {options}".split()
    for n in (1, 2):
        together = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(n)]
        python(*together, "-m", "iad_policy.cli", *given, "--out", tmp_path / f"out-{n}", OMP_NUM_THREADS="1")
    one, two = (told(tmp_path / f"out-{n}", "step") for n in (1, 2))
    assert one == two == list(range(1, len(one) + 1))
    assert load_model(tmp_path / "out-2").facts["recipe"] == "bc"
    ours, theirs = (load_file(tmp_path / f"out-{n}" / "adapter.safetensors") for n in (1, 2))
    assert all(torch.allclose(ours[name], theirs[name], atol=1e-4) for name in ours)
    assert any(one.any() for name, one in ours.items() if "lora_B" in name)


def test_a_trained_model_acts_in_both_ways_and_learns(cloned: Model, demos: Experience, tmp_path: Path) -> None:
    given: dict[str, Any] = {"tasks": 2, "env_args": {"max_steps": 3}, "baseline": "single"}
    agent, free = f"learned:{cloned.folder}", {"decode": "free", "max_tokens": 8}
    offered = evaluate(SHOP, ["single"], agent=agent, out=tmp_path / "offered", **given)
    assert [record.grounding for record in offered.records["single"]] == [1.0, 1.0]
    written = evaluate(SHOP, ["single"], agent=agent, agent_args=free, out=tmp_path / "free", **given)
    assert all(record.spent.completion_tokens > 0 for record in written.records["single"])
    made = train("bc", demos, out=tmp_path / "bc", keep=0.5, epochs=2)
    with pytest.raises(ModelFolderError, match="language model for decode=free"):
        evaluate(SHOP, ["single"], agent=f"learned:{made.folder}", agent_args={"decode": "free"}, tasks=1)
    given = {"start": cloned.folder, "updates": 2, "tasks": 1, "group": 2, "invalid": 0.1}
    assert told(train("ppo", SHOP, out=tmp_path / "grpo", advantage="grpo", **given).folder, "n_episodes") == [2, 2]
    with pytest.raises(ValueError, match="advantage=grpo"):
        train("ppo", SHOP, out=tmp_path / "ppo", advantage="ppo", **given)


SHORT_ROWS: dict[str, Any] = {"network": "published", "epochs": 5, "rate": 1e-4, "batch": 4, "max_length": 1720}


@pytest.mark.parametrize("options", [{"epochs": 40}, SHORT_ROWS])
def test_a_value_model_is_a_verifier(options: dict[str, Any], spec: str, tmp_path: Path) -> None:
    settings = {"strategy_args": {"q-tree.width": 2, "q-tree.depth_expanded": 1}}
    grown = explore(SHOP, how="tree", out=tmp_path / "trees", tasks=1, **settings)
    made = train("qnet", grown, out=tmp_path / "q", backend=f"hf:{spec}", **options)
    losses = told(made.folder, "loss")
    assert losses[-1] < losses[0]
    assert sum(path.suffix == ".safetensors" for path in made.folder.rglob("*")) == 1  # no checkpoint
    rows = [step.row for one in grown.trajectories for step in one.steps][:3]
    again = load_model(made.folder, head="value").backend
    assert list(again.outputs(again.batch(rows))) == list(made.backend.outputs(made.backend.batch(rows)))
    short: dict[str, Any] = {"tasks": 1, "n": 2, "env_args": {"max_steps": 3}, "baseline": "bon"}
    found = evaluate(SHOP, ["bon"], verifier=f"qnet:{made.folder}", **short)
    assert all(record.spent.verifications for record in found.records["bon"])


@pytest.mark.parametrize("loss_at", ["every-token", "last"])
def test_the_published_value_network_is_trained_whole(loss_at: str, spec: str, tmp_path: Path) -> None:
    import torch

    model = backend(spec, "value", network="published", loss_at=loss_at, rate=1e-3)
    *backbone, head = model.model.children()
    shapes = [getattr(one, "in_features", 0) for one in head]
    assert (shapes, head[4].out_features) == ([64, 0, 1024, 0, 1024], 1)
    before = {name: one.clone() for name, one in model.parameters().items()}
    assert len(before) == 6 + len(list(backbone[0].parameters()))
    examples, errors = valued(), []
    for one, target in zip(model.batch(examples.rows), examples.stored["target"], strict=True):
        with torch.no_grad():
            seen = model.weights.model(torch.tensor([one.prompt + one.answer]), output_hidden_states=True)
            x = seen.hidden_states[-1][0, len(one.prompt) :]
            for place in (0, 2, 4):
                x = x.clamp(min=0) if place else x
                x = x @ before[f"head.{place}.weight"].T + before[f"head.{place}.bias"]
        off = (x[:, 0] - target) ** 2
        errors.append(float(off.mean() if loss_at == "every-token" else off[-1]))
        assert model.outputs([one]) == pytest.approx([float(x[-1, 0])], abs=1e-5)
    old = model.outputs(model.batch(examples.rows))
    step = model.copy().step(model.batch(examples.rows), squared_error, examples.stored)
    assert step == pytest.approx(np.mean(errors), abs=1e-5)
    model.fit(examples, Schedule(epochs=1, batch=4), folder=tmp_path)  # one step, so without a warm-up
    assert told(tmp_path, "loss")[0] == pytest.approx(np.mean(errors), abs=1e-5)
    after = model.parameters()
    assert [name for name in before if torch.equal(before[name], after[name])] == []
    assert model.outputs(model.batch(examples.rows)) != pytest.approx(old, abs=1e-3)


@pytest.mark.parametrize("real", [False, True])
def test_a_client_repeats_its_samples_and_reports_the_tokens(real: bool, spec: str, tmp_path: Path) -> None:
    if real:
        require_smollm2()
    model = load_client("hf:smollm2" if real else f"hf:{spec}")
    first, again = (model.complete(ASKED, temperature=1.0, max_tokens=12) for _ in range(2))
    assert first.text == again.text
    assert first.logprobs is not None
    assert len(first.logprobs) == first.usage.completion_tokens <= 12
    assert (first.logprob_kind, again.cached_tokens) == ("model", again.usage.prompt_tokens)
    greedy = model.complete(ASKED, temperature=0.0, max_tokens=12)
    assert greedy.logprobs is not None
    assert sum(greedy.logprobs[:1]) >= first.logprobs[0]
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(64))
    for name in (broken, tmp_path):
        with pytest.raises(ValueError, match="transformers can load"):
            load_client(f"hf:{name}")


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
    assert (thinking.settings["thinking"], model.settings.get("thinking")) == (True, None)


def test_a_simulator_learns_to_write_what_is_seen(spec: str, tmp_path: Path) -> None:
    env, other = gym.make(SHOP, split="train"), gym.make(SHOP)
    task: str = env.unwrapped.task_ids[0]  # type: ignore[attr-defined]
    works = Recorded(task, "buy", "a page", "click[a]", "Bought.", {"invalid_action": False}, True, "", messages=ASKED)
    failed = {"action": "click[b]", "seen": "No b.", "info": {"invalid_action": True}, "done": False, "failure": "none"}
    fails = works._replace(messages=(ASKED[0], {"role": "user", "content": "And b?"}), **failed)
    out = tmp_path / "simulator"
    settings: dict[str, Any] = {"backend": f"hf:{spec}", "epochs": 6, "batch": 4, "rate": 1e-2, "n_rows": 16}
    trained = train_simulator([works, fails], SHOP, out=out, **settings)
    assert (trained.facts["recipe"], trained.facts["options"]["warmup"]) == ("simulator", 0.1)
    assert told(out, "loss")[-1] < told(out, "loss")[0]
    assert outcome_row(fails).text == "Valid: no\nFailed: yes\nOver: no\nObservation:\nNo b."
    with pytest.raises(SimulationError, match="pass --simulator llm:"):
        load_simulator(f"learned:{out}", other)
    simulator: Any = load_simulator(f"llm:{out}", other)
    simulator.begin(adapt(other), State(*other.reset()))
    _, info = env.reset(options={"task_id": task})
    with pytest.raises(SimulationError, match="was not trained on"):
        simulator.begin(adapt(env), State("", info))
    with pytest.raises(NothingToLearn, match="with text"):
        train_simulator([works._replace(messages=()), fails], SHOP, out=tmp_path / "none", **settings)


def test_offered_actions_are_sampled_by_their_likelihood(cloned: Model) -> None:
    env = gym.make(SHOP, split="train")
    state, sample = begun(env, adapt(env), None, 0), cloned.backend.sample
    drawn = [sample(state, temperature=1.0, rng=Random(seed)) for seed in range(200)]
    likely = {one.action: float(np.exp(one.logprob or 0.0)) for one in drawn}
    assert sum(likely.values()) <= 1 + 1e-6
    best = max(likely, key=likely.__getitem__)
    assert sum(one.action == best for one in drawn) / len(drawn) == pytest.approx(likely[best], abs=0.12)
    assert sample(state, temperature=0.0, rng=Random(0)).action == best
    assert sample(state, temperature=0.0, rng=Random(0), avoid=[best]).action != best


KINDS = ("jsonl", "parquet")
DPO: dict[str, Any] = {"per_device_train_batch_size": 4, "learning_rate": 5e-3, "max_length": 2048, "seed": 0}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "dials"
    one = runner(strategies=("single", "bon", "iad"), n=3)
    with RunFolder(path, one.recorded_config(), free=FREE) as folder:
        list(one.episodes(folder))
    return path


def loaded(run: Path, form: str, kind: str, tmp_path: Path) -> dict[str, Any]:
    from datasets import load_dataset

    found, options = {}, {"split": "train", "cache_dir": str(tmp_path / "cache")}
    for path, n_rows in export_runs([Run(run)], form, tmp_path / f"dials.{kind}").items():
        found[path.name] = load_dataset(kind.replace("jsonl", "json"), data_files=str(path), **options)
        assert len(found[path.name]) == n_rows
    return found


@pytest.mark.parametrize(("form", "kind"), [(a, b) for a in FORMATS for b in KINDS if a not in KINDS or a == b])
def test_datasets_loads_every_format(run: Path, form: str, kind: str, tmp_path: Path) -> None:
    for name, data in loaded(run, form, kind, tmp_path).items():
        assert set(data["information"]) == {"proxy"}
        assert set(data["task_id"]) == {f"dials-{place}" for place in range(4)}
        (table,) = [one for one in FORMATS[form] if name.endswith(f"dials{one.suffix}.{kind}")]
        assert data.column_names == list(table.kinds)


def test_trl_takes_each_form_for_what_it_is(run: Path, tmp_path: Path) -> None:
    from trl.data_utils import apply_chat_template, is_conversational

    keys = {"sft": {"text"}, "preference": {"prompt", "chosen", "rejected"}, "kto": {"prompt", "completion", "label"}}
    for form, expected in keys.items():
        (data,) = loaded(run, form, "parquet", tmp_path).values()
        assert is_conversational(data[0])
        names = ("messages", "prompt", "chosen", "rejected", "completion", "label")
        asked = {name: value for name, value in data[0].items() if name in names}
        assert set(apply_chat_template(asked, byte_tokenizer())) == expected


def test_dpo_on_the_preferences_lowers_its_loss_on_a_tiny_random_model(run: Path, tmp_path: Path) -> None:
    from trl import DPOConfig, DPOTrainer

    (data,) = loaded(run, "preference", "jsonl", tmp_path).values()
    args = DPOConfig(output_dir=str(tmp_path / "out"), max_steps=10, **QUIET, **DPO)
    models = {"model": tiny_model(), "ref_model": tiny_model()}  # by itself it would look one up, by a name
    trainer = DPOTrainer(**models, args=args, train_dataset=data, processing_class=byte_tokenizer())
    trainer.train()
    names, log = ("loss", "rewards/accuracies"), trainer.state.log_history
    losses, accuracies = ([line[name] for line in log if name in line] for name in names)
    assert len(losses) == 10
    assert losses[0] == pytest.approx(math.log(2), abs=0.01)
    assert mean(losses[5:]) < 0.9 * losses[0]
    assert mean(accuracies[5:]) > 0.6
