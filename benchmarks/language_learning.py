"""Measures the training of a language model: its speed, its memory, and with `--full` what it is worth.

`--full` imitates demonstrations, explores with the trained model, fits a value model and prefers what the trees found
better, all in the shop, and compares the policies on test tasks. It takes an hour or two on two cores for 135 million
parameters, and resumes in `--out`. Without the extra `training` nothing is measured.
"""

import argparse
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from support.figures import figure
from support.learning import SHOP, Rewards, rewards, row

import iad_envs  # noqa: F401 (registers)
from iad_policy.errors import MissingExtra
from iad_policy.learn.explore import explore
from iad_policy.learn.train import train
from iad_policy.models.hf import require_packages

MODEL = "hf:smollm2"
N_PROMPT, N_ANSWER, N_STEPS = 500, 12, 3
N_TREES, N_TEST = 20, 40


def speed(backend: str) -> None:
    """Print how long a step of 512 tokens and a written answer take, and the memory."""
    import torch

    from iad_policy.learn.backends.hf import TrainableHFBackend
    from iad_policy.models.hf.client import HFModel
    from iad_policy.models.hf.likelihood import answer_logprobs

    made = TrainableHFBackend(SHOP, "policy", backend.removeprefix("hf:"))
    prompt = [list(range(100, 100 + N_PROMPT))]
    answer = [list(range(200, 200 + N_ANSWER))]
    trained = [one for one in made.model.parameters() if one.requires_grad]
    optimiser = torch.optim.AdamW(trained, 1e-4)
    seconds = []
    for _ in range(N_STEPS + 1):
        began = perf_counter()
        answer_logprobs(made.weights, made.model, prompt, answer).sum().backward()
        optimiser.step()
        seconds.append(perf_counter() - began)
    figure("learning_hf_step_of_512_tokens_s", sorted(seconds[1:])[N_STEPS // 2], "s", n=N_STEPS)
    client = HFModel(made.weights)
    asked = ({"role": "user", "content": "Write a long story about a shop."},)
    client.complete(asked, temperature=0.0, max_tokens=4)
    began = perf_counter()
    said = client.complete(asked, temperature=0.0, max_tokens=64)
    took = perf_counter() - began
    figure("learning_hf_tokens_per_s", said.usage.completion_tokens / took, "1/s", better="higher")
    figure("learning_hf_memory_mb", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MB")


def whole(backend: str, folder: Path, n_test: int, n_trees: int) -> None:
    """Train and compare in a folder, and print rows 14 and 15."""
    seconds: dict[str, float] = {}
    arms: dict[str, Rewards] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        began = perf_counter()
        made = work()
        seconds[name] = perf_counter() - began
        figure(f"learning_hf_{name}_s", seconds[name], "s")
        return made

    def tested(name: str) -> None:
        arms[name] = timed(
            f"test_{name}",
            lambda: rewards(f"learned:{folder / name}", seed=0, tasks=n_test, out=folder / f"test-{name}"),
        )

    given: dict[str, Any] = {"backend": backend, "report": print}
    demos = explore(SHOP, out=folder / "demos", tasks=120, episodes=1, temperature=0.0, report=print)
    train("bc", demos, out=folder / "untrained", demos=1, epochs=0, **given)
    timed("bc", lambda: train("bc", demos, out=folder / "bc", demos=20, epochs=2, **given))
    tested("bc")
    settings = {"strategy_args": {"q-tree.depth_expanded": 2}}
    agent, out = f"learned:{folder / 'bc'}", folder / "trees"
    trees = timed("explore", lambda: explore(SHOP, agent, how="tree", out=out, tasks=n_trees, report=print, **settings))
    timed("qnet", lambda: train("qnet", trees, out=folder / "qnet", **given))
    preferring = {"start": folder / "bc", "alpha": 1.0, "epochs": 1, **given}
    timed("dpo", lambda: train("dpo", trees, out=folder / "dpo", **preferring))
    tested("dpo")
    row("15_hf_dpo_minus_bc", arms["dpo"], arms["bc"], least=None)
    tested("untrained")  # the slowest: it seldom buys
    row("14_hf_bc_minus_untrained", arms["bc"], arms["untrained"])
    figure("learning_hf_pipeline_s", sum(seconds[name] for name in ("bc", "explore", "qnet", "dpo")), "s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="the whole pipeline")
    parser.add_argument("--backend", default=MODEL, help="the model, such as hf:smollm2 or hf:FOLDER")
    parser.add_argument("--out", type=Path, help="folder of the pipeline, which resumes there")
    parser.add_argument("--tasks", type=int, default=N_TEST, help="test tasks")
    parser.add_argument("--trees", type=int, default=N_TREES, help="training tasks on which trees grow")
    arguments = parser.parse_args()
    try:
        require_packages()
    except MissingExtra as error:
        print(f"Not measured: {error}")
        return
    speed(arguments.backend)
    if arguments.full:
        with tempfile.TemporaryDirectory() as folder:
            whole(arguments.backend, arguments.out or Path(folder), arguments.tasks, arguments.trees)


if __name__ == "__main__":
    main()
