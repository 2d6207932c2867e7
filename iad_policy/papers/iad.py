"""Iterative agent decoding (arXiv 2504.01931, versions 1 and 2): IAD against best-of-n at equal n."""

from collections.abc import Mapping

from iad_policy.papers import (
    WEBSHOP,
    Claim,
    Experiment,
    FigurePanel,
    Laboratory,
    MeasuredArm,
    PaperComparison,
    Settings,
)
from iad_policy.types.names import SPARSITY


def stages(here: Laboratory) -> None:
    """Imitate ten demonstrations, then prefer what IAD committed to what it rejected."""
    here.trained("base", "bc", here.explored("demos", tasks=120, episodes=1, temperature=0.0), demos=10)
    decisions = here.explored("decisions", agent="base", how="iad", tasks=100, reward="proxy")
    here.trained("after-iad", "dpo", decisions, start="base", source="decisions")


FINALISE = "Verifier: a model that says iterate or finalise (--verifier finalise:<model>); here the environment's own."
SCORED = ("single", "bon", "iad")
SPARSE: Mapping[str | float, Settings] = {level: {"verifier": f"sparse:{level}:{{verifier}}"} for level in SPARSITY}

EXPERIMENTS: Mapping[str, Experiment] = {
    "iad/webshop": Experiment(
        env=WEBSHOP,
        source="arXiv 2504.01931 v2",
        strategies=("single", "bon-sc", "iad"),
        stated={
            "n": 3,
            "temperature": 0.1,
            "strategy_args": {"bon-sc.temperature": 0.6},
            "agent_args": {"top_p": 1},
            "stop": "finalise",
        },
        ours={"feedback": "best-worst", "delta": 0.0, "agent_args": {"max_tokens": 1024}},
        model="Gemini 1.5 Pro and GPT-4o",
        published="Success in per cent on AgentBoard's 251 goals, single, bon-sc and iad: 29.3, 30.31, 38.3 and 40.3, "
        "41.09, 44.68",
        notes=(
            FINALISE,
            "Three samples against three feedback steps: read as n = 3 for both; strategy argument iad.n=4 reads the "
            "steps as refinements of a first proposal. BoN-SC's temperature: up to 0.6, higher hurts.",
        ),
        comparison=PaperComparison(
            title="Iterative agent decoding in the shop",
            source="arXiv 2504.01931, versions 1 and 2",
            differs=(
                "The policy is a model on features of the page. When it refines, it samples among the actions that it "
                "did not try yet, as it can't read feedback.",
                "The verifier is the proxy, which reads no gold.",
                "Learning from IAD's own candidates is not in the paper.",
            ),
            stages=stages,
            arms={
                "single": MeasuredArm("base"),
                **{f"{name}, n = {n}": MeasuredArm("base", name, {"n": n}) for name in ("bon", "iad") for n in (2, 4)},
                "after-iad": MeasuredArm("after-iad"),
                "after-iad, iad, n = 4": MeasuredArm("after-iad", "iad", {"n": 4}),
            },
            claims=(
                Claim("bon > single", "bon, n = 4", "single", "all tables"),
                Claim("T1 iad > bon, n = 4", "iad, n = 4", "bon, n = 4", "all tables"),
                Claim("T1 iad > bon, n = 2", "iad, n = 2", "bon, n = 2", "all tables"),
                Claim("learned from iad > single", "after-iad", "single", "not in the paper"),
                Claim("learned and iad > iad", "after-iad, iad, n = 4", "iad, n = 4", "not in the paper"),
            ),
        ),
    ),
    "iad/webshop-subset": Experiment(
        env=WEBSHOP,
        source="arXiv 2504.01931 v2, figure 8: a weak model on a 20 % subset",
        strategies=("single", "bon-sc", "iad"),
        stated={
            "n": 3,
            "temperature": 0.1,
            "subset": 0.2,
            "strategy_args": {"bon-sc.temperature": 0.6},
            "agent_args": {"top_p": 1},
            "stop": "finalise",
        },
        ours={"feedback": "best-worst", "delta": 0.0, "agent_args": {"max_tokens": 1024}},
        model="a weak model",
        published="Progress against n as a curve, without a table",
        notes=(FINALISE, "The figure's horizontal axis is n. Which tasks the subset holds is not stated."),
        figures={
            "8": (
                FigurePanel(strategies=SCORED, x="proposals", metric="success"),
                FigurePanel(
                    strategies=("bon-sc", "iad"),
                    title="agent {agent}, {tasks} tasks",
                    metric="progress",
                    agent="weak",
                    subset=0.2,
                ),
            ),
        },
    ),
    "iad-v1/webshop": Experiment(
        env=WEBSHOP,
        source="arXiv 2504.01931 v1",
        strategies=("single", "bon-sc", "iad"),
        stated={
            "n": 4,
            "temperature": 0.1,
            "strategy_args": {"bon-sc.temperature": 0.6},
            "agent_args": {"top_p": 1},
            "stop": "finalise",
        },
        ours={"feedback": "best-worst-judge:300:200", "delta": 0.0, "agent_args": {"max_tokens": 1024}},
        model="Gemini 1.5 Pro and GPT-4o",
        published="Success in per cent as in version 2, single, bon-sc and iad: 29.3, 30.31, 38.3 and 40.3, 41.09, "
        "44.68",
        notes=(FINALISE, "delta: Algorithm 1 asks for more than 0, the text calls 0 its special case."),
    ),
    "iad/sketch2code": Experiment(
        env="IAD/Sketch2Code-v0",
        source="arXiv 2504.01931 v2",
        strategies=("single", "bon", "self-refine", "sk2code-feedback", "iad-fb", "iad"),
        stated={
            "n": 6,
            "temperature": 0.6,
            "verifier": "reference:layout",
            "strategy_args": {"iad.feedback": "best-worst:300", "iad-fb.feedback": "best-worst-judge:300:100"},
            "agent_args": {"max_tokens": 4096, "top_p": 1},
        },
        ours={"delta": 0.0},
        model="Gemini 1.5 Flash",
        published="Layout score at n = 6: bon 25.75, self-refine 19.89, sk2code-feedback 21.43, iad-fb 27.95, iad "
        "26.75",
        notes=(
            "n is 2, 4 and 6 there (--n 2,4,6). Best and worst HTML are cut to 200-300 tokens, a judge's text to 100.",
        ),
        figures={
            "3": (
                FigurePanel(strategies=SCORED, parts="metrics"),
                FigurePanel(strategies=SCORED, title="agent {agent}", agent="weak"),
            ),
            "5": (
                FigurePanel(
                    strategies=SCORED,
                    title="verifier oracle:{part}",
                    options={"verifier": "oracle:{part}"},
                    parts="verifiers",
                    agent="weak if any",
                ),
            ),
            "6": tuple(
                FigurePanel(strategies=SCORED, title=f"temperature {low:g}", options={"temperature": low})
                for low in (0.1, 0.05, 0.0)
            ),
            "7": (
                FigurePanel(
                    strategies=("bon", "iad"),
                    x="sparsity",
                    title="n = 2, sparse scores",
                    options={"n": 2},
                    settings=SPARSE,
                ),
                FigurePanel(
                    strategies=("bon", "iad"),
                    x="noise sd",
                    title="n = 2, noise on scores",
                    options={"n": 2},
                    settings={sd: {"verifier": f"noisy:{sd:g}:{{verifier}}"} for sd in (0.0, 0.1, 0.2, 0.4, 0.8)},
                ),
                FigurePanel(strategies=("self-refine",), x="rounds", title="no verifier"),
                FigurePanel(strategies=("iad",), title="scalar score as feedback", options={"feedback": "scalar"}),
            ),
            "14": (
                FigurePanel(
                    strategies=("bon", "iad"),
                    title="{strategy}, sparse scores",
                    settings={f"sparsity {level}": own for level, own in SPARSE.items()},
                ),
            ),
        },
    ),
    "iad-v1/sketch2code": Experiment(
        env="IAD/Sketch2Code-v0",
        source="arXiv 2504.01931 v1",
        strategies=("single", "bon", "self-refine", "sk2code-feedback", "iad-fb", "iad"),
        stated={
            "n": 6,
            "temperature": 0.5,
            "verifier": "reference:layout",
            "strategy_args": {"iad.feedback": "best-worst:400", "iad-fb.feedback": "best-worst-judge:400:200"},
            "agent_args": {"max_tokens": 4096, "top_p": 1},
        },
        ours={"delta": 0.0},
        model="Gemini 1.5 Flash",
        published="Layout score at n = 6: bon 25.75, self-refine 19.89, sk2code-feedback 21.43, iad-fb 31.98, iad "
        "26.75",
        notes=(
            "n is 2, 4 and 6 there (--n 2,4,6). The main text cuts HTML to 300-400 tokens and a judge's text to 200, "
            "the appendix to 100-200 and 100.",
        ),
    ),
    "iad/bird": Experiment(
        env="IAD/BIRD-v0",
        source="arXiv 2504.01931 v2, text-to-SQL",
        strategies=("single", "bon", "bon-sc", "iad", "chains"),
        stated={"n": 4, "strategy_args": {"chains.n": 40, "chains.k": 10}},
        ours={"temperature": 0.7, "feedback": "best-worst", "delta": 0.0, "env_args": {"mode": "answer"}},
        model="GPT-4o and Gemini 1.5 Pro",
        published="EX of iad with chains on the dev set: 65.97 and 68.05",
        notes=(
            "Three rounds of feedback: n = 4. Up to ten chains, whose best candidates vote by result; best-of-N goes "
            "to n = 20 (--n). The dev set has 1,534 questions.",
        ),
    ),
    "iad/bash": Experiment(
        env="IAD/InterCodeBash-v0",
        source="arXiv 2504.01931 v2, figure 8",
        strategies=("single", "bon", "iad"),
        ours={"n": 3, "feedback": "best-worst", "delta": 0.0, "env_args": {"published": True, "max_steps": 10}},
        model="GPT-4",
        published="Accuracy against proposals as a curve, without a table",
        notes=("The figure's horizontal axis is the number of proposals. InterCode has 200 tasks, ten turns each.",),
    ),
}
