"""LATS (arXiv 2310.04406): tree search with reflections, whose reward is the true one."""

from collections.abc import Mapping

from iad_policy.papers import WEBSHOP, Experiment

EXPERIMENTS: Mapping[str, Experiment] = {
    "lats/webshop": Experiment(
        env=WEBSHOP,
        source="LATS, arXiv 2310.04406 and its code",
        strategies=("single", "lats"),
        stated={
            "n": 30,
            "verifier": "oracle",
            "strategy_args": {
                "lats.stop": "score:1",
                "lats.k": 5,
                "lats.k_root": 10,
                "lats.depth": 15,
                "lats.n_reflections": 3,
                "lats.at_depth": -0.5,
            },
            "env_args": {"max_steps": 15},
        },
        agent="react",
        model="GPT-3.5",
        published="Score: ReAct 53.8, Reflexion 64.2, LATS 75.9",
        notes=("It stops at the true reward 1 and returns the best true reward, so it is an oracle's result.",),
    ),
}
