"""Tree search for language-model agents (arXiv 2407.01476): best first, with a value that is a vote."""

from collections.abc import Mapping

from iad_policy.papers import WEBSHOP, Experiment

EXPERIMENTS: Mapping[str, Experiment] = {
    "best-first/webshop": Experiment(
        env=WEBSHOP,
        source="Tree search for language-model agents, arXiv 2407.01476",
        strategies=("single", "best-first"),
        stated={
            "n": 20,
            "strategy_args": {
                "best-first.branching": 5,
                "best-first.depth": 4,
                "best-first.samples": 20,
                "best-first.votes": 20,
            },
        },
        model="GPT-4o",
        published="No figure of this environment. Success in per cent with search: WebArena 19.2, VisualWebArena 26.4",
        notes=(
            "Run there on WebArena and VisualWebArena: the settings are carried over. The value is the mean of a "
            "model's 20 votes (--verifier judge:<model>); a verifier that computes is asked three times.",
        ),
    ),
}
