"""The tasks, the solvers and the scorer for inspect_ai, with the framework itself and its mock model."""

import gc
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="the package inspect-ai is not installed: make bridges BRIDGES=inspect")

import anyio
from anyio import create_task_group
from inspect_ai import Task, eval_async
from inspect_ai.dataset import Sample
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model

from iad_policy import IADPolicyWrapper
from iad_policy.agents.language import language_agent
from iad_policy.bridges import inspect as bridge
from iad_policy.models.scripted import ScriptedModel
from iad_policy.registry.domain import domain_by_id
from tests.contract.rule_based import made
from tests.full.played import SHOP, Answerer, begun_children, each_environment
from tests.full.processes import ROOT, examples, needing, python, told
from tests.iad_policy.bridges.gold import texts_of
from tests.iad_policy.playing import play
from tests.security.bash_sandboxes import children

pytestmark = [*needing("inspect_ai", how="make bridges BRIDGES=inspect"), pytest.mark.timeout(900)]
TWO_STEPS = {"max_steps": 2}
READ = {"input_tokens": 12, "input_tokens_cache_read": 5, "input_tokens_cache_write": 3}
"""Tokens of a prompt, of which there are 20 wherever they are."""
NAMES = {env_id: name for name, env_id in bridge.ENVIRONMENTS.items()}


def messages_of(sent: Sequence[Any]) -> list[dict[str, Any]]:
    """The framework's messages in OpenAI's form."""

    def part(content: Any) -> dict[str, Any]:
        if content.type == "image":
            return {"type": "image_url", "image_url": {"url": content.image}}
        return {"type": "text", "text": content.text}

    contents = [one.content if isinstance(one.content, str) else list(map(part, one.content)) for one in sent]
    return [{"role": one.role, "content": content} for one, content in zip(sent, contents, strict=True)]


def mock(reply: Callable[[Any], str] | str, asked: list[Any] | None = None, **output: Any) -> Model:
    """A model of the framework that answers a text, or by a function of the messages, for 20 and 10 tokens."""

    def answered(sent: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        messages = messages_of(sent)
        if asked is not None:
            asked.append((messages, config))
        made = ModelOutput.from_content("mockllm", reply if isinstance(reply, str) else reply(messages), **output)
        made.usage = ModelUsage(output_tokens=10, total_tokens=30, **READ)
        return made

    return get_model("mockllm/model", custom_outputs=answered)


def evaluated(tasks: Any, model: Model, status: str = "success", **options: Any) -> Any:
    """The log of one evaluation."""
    (log,) = anyio.run(partial(eval_async, tasks, model=model, log_dir="logs", **options))
    assert log.status == status, log.error
    return log


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("INSPECT_DISPLAY", "none")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    yield
    gc.collect()  # the framework leaves streams open, which is complained about when they are collected


@each_environment
def test_scores_and_messages_are_those_of_a_plain_loop(env_id: str) -> None:
    answerer = Answerer(env_id, 2)
    log = evaluated(f"iad/{NAMES[env_id]}", mock(answerer.reply), task_args={"n": 2})
    samples = {sample.id: sample for sample in log.samples}
    episodes = list(answerer.episodes.values())
    assert {name: sample.scores["outcome"].value for name, sample in samples.items()} == answerer.metrics()
    for played in episodes:
        sample = samples[played.task_id]
        assert sample.scores["outcome"].metadata["stop_reason"] == played.stop_reason
        assert texts_of(messages_of(sample.messages)) == played.told.texts
        assert answerer.gold[played.task_id] == []
        assert sample.target == ""
    means = {score.name: score.metrics["mean"].value for score in log.results.scores}
    expected = {name: sum(played.metrics[name] for played in episodes) / 2 for name in episodes[0].metrics}
    assert means == pytest.approx(expected)
    assert means["success"] == 0.5


@pytest.mark.parametrize("strategy", ["single", "bon", "iad"])
def test_a_policy_as_a_solver_does_what_it_does_alone_and_tokens_agree(strategy: str) -> None:
    stand_ins = [f"Action: {action}" for action in (*domain_by_id(SHOP).stand_ins, "click[b0221ztw02]")]

    def reply(messages: Any) -> str:
        return stand_ins[sum(map(len, texts_of(messages))) % len(stand_ins)]

    log = evaluated(bridge.webshop(n=2), mock(reply), solver=bridge.iad_solver(strategy=strategy, n=3))
    env, n_calls = made(SHOP), 0
    for sample, task_id in zip(log.samples, env.unwrapped.task_ids[:2], strict=True):  # type: ignore[attr-defined]
        agent = language_agent(env, ScriptedModel(reply), temperature=None, max_tokens=None)
        with IADPolicyWrapper(agent, env, strategy=strategy, n=3) as policy:
            actions, total, _ = play(env, policy, seed=0, options={"task_id": task_id})
            n_proposals = policy.usage.proposals
        assert [message.content for message in sample.messages if message.role == "assistant"] == actions
        assert sample.scores["outcome"].value["reward"] == total
        counted, usage = sample.store["iad_usage"], sample.model_usage["mockllm/model"]
        assert (counted["prompt_tokens"], usage.input_tokens) == (20 * n_proposals, 12 * n_proposals)
        assert counted["completion_tokens"] == usage.output_tokens
        n_calls += n_proposals
    env.close()
    assert log.stats.model_usage["mockllm/model"].total_tokens == 30 * n_calls
    assert n_calls > 2 * 15 * (3 if strategy == "bon" else 1) / 2


def test_a_judge_is_the_model_of_that_role_and_sampling_is_left_to_the_framework() -> None:
    asked: list[Any] = []
    roles = {"judge": mock("Critique: well.\nScore: 7", asked)}
    solver, short = bridge.iad_solver(strategy="bon", n=2, verifier="judge"), bridge.webshop(n=1, env_args=TWO_STEPS)
    (sample,) = evaluated(short, mock("Action: search[shirt]"), solver=solver, model_roles=roles).samples
    assert sum(one.total_tokens for one in sample.model_usage.values()) == 30 * (4 + len(asked)) > 120
    assert sample.store["iad_usage"]["prompt_tokens"] == 20 * (4 + len(asked))
    asked.clear()
    task, solver = bridge.bird(n=1, env_args={"mode": "answer"}), bridge.iad_solver(strategy="single", n=1)
    evaluated(task, mock("SELECT 1", asked), solver=solver, temperature=0.3, max_tokens=77)
    assert {(config.temperature, config.max_tokens) for _, config in asked} == {(0.3, 77)}


def test_an_episode_that_a_limit_ends_is_scored_as_it_stood() -> None:
    for solver, n_steps in ((None, 5.0), (bridge.iad_solver(strategy="bon", n=2), 2.0)):
        log = evaluated(bridge.webshop(n=1), mock("Action: search[shirt]"), solver=solver, token_limit=30 * 5)
        (sample,) = log.samples
        assert (sample.limit.type, sample.scores["outcome"].value["steps"]) == ("token", n_steps)
        assert log.stats.model_usage["mockllm/model"].total_tokens == 30 * 5
        assert not solver or sum(sample.store["iad_usage"].values()) == 30 * 5


def test_an_answer_that_was_cut_off_is_no_action_and_errors_are_the_sample_s() -> None:
    cut = mock("Action: search[red s", stop_reason="max_tokens")
    for solver in (None, bridge.iad_solver(strategy="single")):
        log = evaluated(bridge.webshop(n=1, env_args=TWO_STEPS), cut, solver=solver)
        assert log.samples[0].scores["outcome"].value["invalid"] == 2.0

    def broken(messages: Any) -> str:
        raise RuntimeError("the cable is cut")

    for solver in (None, bridge.iad_solver(strategy="bon", n=2)):
        log = evaluated(bridge.webshop(n=1), mock(broken), "error", solver=solver)
        assert "the cable is cut" in log.error.message
        assert "CallEnded" not in log.error.message
    foreign = Task(dataset=[Sample(id="1", input="Hello.")], solver=bridge.iad_solver())
    assert "a task iad/" in evaluated(foreign, mock(""), "error").error.message
    with pytest.raises(ValueError, match="prompting"):
        bridge.iad_solver(style="fc")
    with pytest.raises(ValueError, match="names its tasks"):
        bridge.environment("CartPole-v1")


@pytest.mark.parametrize("strategy", [None, "single", "iad"])
def test_a_cancelled_evaluation_leaves_no_process(strategy: str | None) -> None:
    before = begun_children()

    async def run() -> None:
        hanging = anyio.Event()
        n_asked = count()

        async def answered(*_: Any) -> ModelOutput:
            if next(n_asked) >= 4:
                hanging.set()
                await anyio.sleep_forever()
            made = ModelOutput.from_content("mockllm", "Action: sleep 100 & ls /")
            made.usage = ModelUsage(output_tokens=10, total_tokens=30, **READ)  # else it fetches a tokenizer to count
            return made

        model = get_model("mockllm/model", custom_outputs=answered)
        solver = bridge.iad_solver(strategy=strategy) if strategy else None
        async with create_task_group() as tasks:
            options: dict[str, Any] = {"model": model, "solver": solver, "log_dir": "logs"}
            tasks.start_soon(partial(eval_async, bridge.intercode_bash(n=2), **options))
            with anyio.fail_after(600):
                await hanging.wait()
            assert children(os.getpid()) - before
            tasks.cancel_scope.cancel()

    anyio.run(run)
    assert children(os.getpid()) - before == set()


def test_the_examples_of_the_page_run_and_commands_find_tasks_and_solvers_by_the_entry_point(tmp_path: Path) -> None:
    """With the model of `toy_model.py`, which needs no key, and fewer and shorter tasks."""
    (tmp_path / "example.py").write_text(examples("frameworks.md", "iad_solver")[0])
    assert "success" in python("example.py", cwd=tmp_path)
    (installed := tmp_path / "toy-1.dist-info").mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1\n")
    (installed / "entry_points.txt").write_text("[inspect_ai]\ntoy = tests.full.toy_model\n")
    lines = "\n".join(examples("frameworks.md", language="sh")).splitlines()
    commands = [shlex.split(line) for line in lines if line.startswith("inspect eval")]
    assert len(commands) == 2
    for _, *words in commands:
        short = ("-T", "n=2", "-T", 'env_args={"max_steps": 3}', "--model", "toy/toy", "--display", "plain")
        told([Path(sys.executable).parent / "inspect", *words, *short], cwd=tmp_path, path=[tmp_path])
        *_, log = sorted((read_eval_log(info) for info in list_eval_logs("logs")), key=lambda log: log.eval.created)
        assert (log.status, log.eval.task) == ("success", "iad/webshop")
        assert log.eval.metadata["env_id"] == "IAD/WebShop-v0"
        assert [sample.id for sample in log.samples] == ["dev-0001", "dev-0002"]
        assert {sample.scores["outcome"].value["steps"] for sample in log.samples} == {3.0}
        (usage,) = log.stats.model_usage.values()
        counted = [sample.store.get("iad_usage") for sample in log.samples]
        spent = usage.input_tokens, usage.output_tokens
        if "--solver" in words:
            sums = tuple(sum(one[name] for one in counted) for name in ("prompt_tokens", "completion_tokens"))
            assert spent == sums > (2 * 3 * 11, 2 * 3 * 7)
        else:
            assert (counted, spent) == ([None, None], (2 * 3 * 11, 2 * 3 * 7))
