"""The table of presets: what each paper states for an environment, and what we set where it says nothing.

To add one: a line here. Figures are as published; where two versions of a paper differ, each has a line of its own.
"""

from collections.abc import Mapping

from iad_policy.presets import Preset

WEBSHOP, BASH, BIRD, SKETCH = "IAD/WebShop-v0", "IAD/InterCodeBash-v0", "IAD/BIRD-v0", "IAD/Sketch2Code-v0"
IAD_V1 = "arXiv 2504.01931 v1"
IAD_V2 = "arXiv 2504.01931 v2"

_FINALISE = "Verifier: a model that says iterate or finalise (--verifier finalise:<model>); here the environment's own."

PRESETS: Mapping[str, Preset] = {
    "iad/webshop": Preset(
        WEBSHOP,
        IAD_V2,
        ("single", "bon-sc", "iad"),
        stated={
            "n": 3,
            "temperature": 0.1,
            "strategy_args": {"bon-sc.temperature": 0.6},
            "agent_args": {"top_p": 1},
            "stop": "finalise",
        },
        ours={"feedback": "best-worst", "delta": 0.0, "agent_args": {"max_tokens": 1024}},
        notes=(
            _FINALISE,
            "Three samples against three feedback steps: read as n = 3 for both; strategy argument iad.n=4 reads the "
            "steps as refinements of a first proposal. BoN-SC's temperature: up to 0.6, higher hurts.",
        ),
    ),
    "iad/webshop-subset": Preset(
        WEBSHOP,
        f"{IAD_V2}, figure 8: a weak model on a 20 % subset",
        ("single", "bon-sc", "iad"),
        stated={
            "n": 3,
            "temperature": 0.1,
            "subset": 0.2,
            "strategy_args": {"bon-sc.temperature": 0.6},
            "agent_args": {"top_p": 1},
            "stop": "finalise",
        },
        ours={"feedback": "best-worst", "delta": 0.0, "agent_args": {"max_tokens": 1024}},
        notes=(_FINALISE, "The figure's horizontal axis is n. Which tasks the subset holds is not stated."),
    ),
    "iad-v1/webshop": Preset(
        WEBSHOP,
        IAD_V1,
        ("single", "bon-sc", "iad"),
        stated={
            "n": 4,
            "temperature": 0.1,
            "strategy_args": {"bon-sc.temperature": 0.6},
            "agent_args": {"top_p": 1},
            "stop": "finalise",
        },
        ours={"feedback": "best-worst-judge:300:200", "delta": 0.0, "agent_args": {"max_tokens": 1024}},
        notes=(_FINALISE, "delta: Algorithm 1 asks for more than 0, the text calls 0 its special case."),
    ),
    "iad/sketch2code": Preset(
        SKETCH,
        IAD_V2,
        ("single", "bon", "iad"),
        stated={
            "n": 6,
            "temperature": 0.6,
            "feedback": "best-worst:300",
            "verifier": "reference:layout",
            "agent_args": {"max_tokens": 4096, "top_p": 1},
        },
        ours={"delta": 0.0},
        notes=("n is 2, 4 and 6 there: --n. Best and worst HTML are cut to 200-300 tokens, a judge's text to 100.",),
    ),
    "iad-v1/sketch2code": Preset(
        SKETCH,
        IAD_V1,
        ("single", "bon", "iad"),
        stated={
            "n": 6,
            "temperature": 0.5,
            "feedback": "best-worst:400",
            "verifier": "reference:layout",
            "agent_args": {"max_tokens": 4096, "top_p": 1},
        },
        ours={"delta": 0.0},
        notes=(
            "n is 2, 4 and 6 there: --n. The main text cuts HTML to 300-400 tokens and a judge's text to 200, the "
            "appendix to 100-200 and 100.",
        ),
    ),
    "iad/bird": Preset(
        BIRD,
        f"{IAD_V2}, text-to-SQL",
        ("single", "bon", "bon-sc", "iad", "chains"),
        stated={"n": 4, "strategy_args": {"chains.n": 40, "chains.k": 10}},
        ours={"temperature": 0.7, "feedback": "best-worst", "delta": 0.0},
        notes=(
            "Three rounds of feedback: n = 4. Up to ten chains, whose best candidates vote by result; best-of-N goes "
            "to n = 20 (--n). The dev set has 1,534 questions.",
        ),
    ),
    "iad/bash": Preset(
        BASH,
        f"{IAD_V2}, figure 8",
        ("single", "bon", "iad"),
        ours={"n": 3, "feedback": "best-worst", "delta": 0.0, "env_args": {"published": True, "max_steps": 10}},
        notes=("The figure's horizontal axis is the number of proposals. InterCode has 200 tasks, ten turns each.",),
    ),
}
"""Name -> preset."""
