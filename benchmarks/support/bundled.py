"""Compares success on an environment's bundled tasks: an agent, a random agent, and best of many episodes."""

from typing import Any

import gymnasium as gym
from support.figures import FULL, ROOT, figure, nothing

import iad_envs  # noqa: F401 (registers)
from iad_policy import IADPolicyWrapper
from iad_policy.agents import asks_a_model

RANDOM_AT_MOST = 0.05
GAINED_BY_MANY = 0.15


def bundled_tasks(
    env_id: str,
    folder: str,
    agent: str | None,
    *,
    n_runs: int = 16,
    n_tasks: int | None = None,
    about: str = "",
    **env_args: Any,
) -> None:
    """Print the success of one episode, of a random agent, of the best of n_runs episodes, and by difficulty.

    Args:
        env_id: Environment id.
        folder: Name of its data folder in `data/`.
        agent: Name of its rule-based agent, or of a language model, which is only asked under `--full`. None for an
            environment that no model of this machine can play: only the random agent plays. A model takes most of an
            hour.
        n_runs: Number of episodes per task, each with another seed.
        n_tasks: Number of tasks, from the start of the environment's own split. None takes all.
        about: Beginning of the figures' names, where an environment is measured in several ways.
        env_args: Arguments of the environment.
    """
    env = gym.make(env_id, data_dir=ROOT / "data" / folder, **env_args)
    about = f"{about}_" if about else ""
    random = [success for success, _ in _solved(env, "random", 0, n_tasks)]
    figure(f"{about}random_success", _share(random), "share", target=RANDOM_AT_MOST, n=len(random))
    if agent is None or (asks_a_model(agent) and not FULL):
        why = f"{agent} plays, which takes --full" if agent else "no language model of this machine sees pictures"
        for name in ("single", f"pass{n_runs}", "hard", "easy"):
            nothing(f"{about}{name}_success", why)
        env.close()
        return
    runs = [_solved(env, agent, seed, n_tasks) for seed in range(n_runs)]
    tasks = list(zip(*runs, strict=True))
    single = [success for run in runs for success, _ in run]
    figure(f"{about}single_success", _share(single), "share", n=len(single))
    any_of_them = _share([any(success for success, _ in task) for task in tasks])
    target = _share(single) + GAINED_BY_MANY
    figure(f"{about}pass{n_runs}_success", any_of_them, "share", target=target, better="higher", n=len(tasks))
    for name, kinds in (("hard", ("hard", "challenging")), ("moderate", ("moderate",)), ("easy", ("easy", "simple"))):
        found = [success for run in runs for success, kind in run if kind in kinds]
        if found:
            figure(f"{about}{name}_success", _share(found), "share", n=len(found))
    env.close()


def _solved(env: gym.Env[Any, Any], agent: str, seed: int, n_tasks: int | None) -> list[tuple[bool, str]]:
    """Return success and difficulty of each task, with one episode each."""
    inner: Any = env.unwrapped
    results = []
    with IADPolicyWrapper(agent, env, strategy="single", seed=seed) as policy:
        for task_id in inner.task_ids[:n_tasks]:
            observation, info = env.reset(options={"task_id": task_id})
            done = False
            while not done:
                observation, _, terminated, truncated, info = env.step(policy.act(observation, info))
                done = terminated or truncated
            results.append((bool(info["success"]), inner.tasks[task_id].difficulty))
    return results


def _share(results: list[bool]) -> float:
    return sum(results) / len(results)
