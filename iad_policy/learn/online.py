"""Trains a policy on episodes that it plays while it learns, on training tasks."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np

from iad_policy.agents.language import language_agent
from iad_policy.learn.models import finished_model, keep_lines, read_checkpoint, write_checkpoint, write_model, writing
from iad_policy.learn.play import Act, PlayedEpisode, play
from iad_policy.learn.progress import advance
from iad_policy.learn.recipes.ppo import PolicyOptimisation
from iad_policy.learn.splits import subjects_of, training_tasks
from iad_policy.learn.trainable import Trainable, load_trainable
from iad_policy.registry.domain import env_id
from iad_policy.trained.backends import Backend
from iad_policy.trained.models import MODEL, TRAINING, Model, load_model
from iad_policy.types import Candidate, State
from iad_policy.types.call_context import Call, use_call
from iad_policy.types.hashing import digest, dumps, seed_of


def train_online(
    recipe: PolicyOptimisation,
    env: str,
    *,
    start: Path | str,
    out: Path | str,
    seed: int = 0,
    report: Callable[[str], Any] = lambda text: None,
    **options: Any,
) -> Model:
    """Train a policy from a start. The same command again goes on after a kill, from the last whole update.

    Args:
        recipe: What to do.
        env: The environment's id. Its training tasks are played.
        start: Folder of the policy to start from, which is also the reference of the penalty.
        out: Folder of the model.
        seed: Seed of the tasks and of the samples.
        report: Function that is told how it goes, a line at a time.
        options: Options of the backend (`rate`, `entropy`).

    Raises:
        SplitError: The environment has no training tasks.
        ModelFolderError: `out` holds another model, or `start` holds no policy for this environment.
    """
    known = load_model(start, head="policy", env=env)
    policy = load_trainable(known.facts["backend"], env, "policy", seed=seed, **{**known.backend.options, **options})
    policy.take(known.backend)
    world = training_tasks(env)
    assert env_id(world) == env
    data = getattr(world.unwrapped, "data", None)
    facts = {
        "recipe": "ppo",
        "options": asdict(recipe) | options,
        "head": "policy",
        "backend": policy.name,
        "env": env,
        "seed": seed,
        "start": known.identity,
    }
    folder, asked = Path(out), digest(facts, {}, "" if data is None else data.digest)
    with writing(folder):
        if (folder / MODEL).exists():
            return finished_model(folder, asked)
        models = {"policy": policy}
        if recipe.advantage == "ppo" and not hasattr(policy, "client"):
            models["value"] = load_trainable(f"{policy.name}-states", env, "value", seed=seed)
        act = _actor(policy, recipe, world)
        state = read_checkpoint(folder, models, asked) or {"n_updates": 0, "played": []}
        keep_lines(folder, state["n_updates"])
        played = set(state["played"])
        try:
            for update in range(state["n_updates"], recipe.updates):
                draws = seed_of("update", seed, update)
                episodes, line = _updated(recipe, policy, models.get("value"), known.backend, world, act, draws)
                played.update(one.task for one in episodes)
                with (folder / TRAINING).open("a", encoding="utf-8") as log:
                    log.write(f"{dumps({'update': update, **line})}\n")
                done = update + 1
                write_checkpoint(folder, f"{done}", models, asked=asked, n_updates=done, played=sorted(played))
                advance("playing and training", done, recipe.updates)
                if done % 10 == 0 or done == recipe.updates:
                    report(f"update {done} of {recipe.updates}: mean reward {line['reward']:.3f}")
        finally:
            world.close()
        whole = {
            **facts,
            "asked": asked,
            "identity": policy.identity,
            "n_epochs": recipe.updates,
            "trained_on": {
                **known.trained_on,
                "tasks": sorted({*known.trained_on["tasks"], *played}),
                "subjects": sorted({*known.trained_on["subjects"], *subjects_of(env, {}, played)}),
                "n_episodes": recipe.updates * recipe.tasks * recipe.group,
                "reward_information": "oracle",
            },
        }
        return write_model(folder, policy, whole)


def _actor(policy: Backend, recipe: PolicyOptimisation, world: "gym.Env[Any, Any]") -> Act:
    """Return what plays. A language model writes: among offered actions its sampling odds are not what is trained.

    Raises:
        ValueError: The recipe can't train a language model like this.
    """
    client = getattr(policy, "client", None)
    if client is None:
        return lambda state, rng: policy.sample(state, temperature=1.0, rng=rng)
    if recipe.advantage == "ppo":
        raise ValueError(
            "expected an advantage without a value model of states for a language model, got ppo; pass --option "
            "advantage=grpo or gigpo"
        )
    agent = language_agent(world, client(), "direct", temperature=1.0, max_tokens=64, reask=0)

    def act(state: State, rng: Random) -> Candidate:
        with use_call(Call(stream=str(rng.getrandbits(63)))) as call:
            candidate: Candidate = agent.propose(state, feedback=None, temperature=1.0, rng=rng)
        return replace(candidate, exchanges=tuple(call.exchanges))

    return act


def _updated(
    recipe: PolicyOptimisation,
    policy: Trainable,
    value: Trainable | None,
    reference: Backend,
    world: "gym.Env[Any, Any]",
    act: Act,
    seed: int,
) -> tuple[list[PlayedEpisode], dict[str, Any]]:
    """Play, and change the policy. Return the episodes, and the update's line."""
    known = list(world.unwrapped.task_ids)  # type: ignore[attr-defined]
    tasks = Random(seed).sample(known, min(recipe.tasks, len(known)))
    episodes = play(world, act, tasks, group=recipe.group, seed=seed)
    rewards = np.array([one.rewards.sum() for one in episodes])
    examples = recipe.examples(episodes, recipe.advantages(episodes, value), reference)
    line: dict[str, Any] = {"reward": float(rewards.mean()), "n_episodes": len(episodes)}
    if examples is None:
        return episodes, {**line, "loss": None}
    batch = policy.batch(examples.rows)
    line["loss"] = [policy.step(batch, examples.objective, examples.stored) for _ in range(recipe.passes)][-1]
    line["kl"] = policy.divergence(batch, reference.reference(batch))
    if value is not None:
        own = recipe.value_examples(episodes)
        states = value.batch(own.rows)
        # Twenty steps: it is cheap, and advantages are as good as its values.
        line["value_loss"] = [value.step(states, own.objective, own.stored) for _ in range(20)][-1]
    return episodes, line
