"""InterCode (arXiv 2306.14898) in the shell: three ways to prompt, measured by its authors."""

from collections.abc import Mapping

from iad_policy.papers import Experiment

EXPERIMENTS: Mapping[str, Experiment] = {
    "intercode/bash": Experiment(
        env="IAD/InterCodeBash-v0",
        source="InterCode, arXiv 2306.14898 and its code, Try Again",
        strategies=("single", "try-again"),
        stated={"n": 10, "verifier": "oracle", "env_args": {"max_steps": 10}},
        ours={"env_args": {"published": True}},
        model="GPT-4",
        published="Success in per cent: 48.5 after ten turns, 34.0 after the first, recomputed from InterCode's logs",
        notes=(
            "There an attempt is a turn, what it does to the files stays, and the best reward of the ten counts; here "
            "attempts are made on forks and the best is committed. single is the first turn.",
        ),
    ),
    "intercode-react/bash": Experiment(
        env="IAD/InterCodeBash-v0",
        source="InterCode, arXiv 2306.14898 and its code, ReAct",
        strategies=("single",),
        stated={"temperature": 0, "env_args": {"max_steps": 10}},
        ours={"agent_args": {"max_tokens": 1024}, "env_args": {"published": True}},
        agent="react",
        model="GPT-3.5",
        published="Success in per cent: 20.5",
        notes=("The reward is not shown. The original's model sees the first 350 characters of an output.",),
    ),
    "intercode-plan-solve/bash": Experiment(
        env="IAD/InterCodeBash-v0",
        source="InterCode, arXiv 2306.14898 and its code, Plan & Solve",
        strategies=("single",),
        stated={"env_args": {"max_steps": 10}},
        ours={"temperature": 0, "agent_args": {"max_tokens": 1024}, "env_args": {"published": True}},
        agent="plan-solve",
        model="GPT-3.5",
        published="Success is in its table of prompting strategies, beside 20.5 per cent of ReAct",
        notes=("After the plan's steps the original allows three turns to refine; here max_steps alone ends it.",),
    ),
}
