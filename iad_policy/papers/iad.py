"""Iterative agent decoding (arXiv 2504.01931, versions 1 and 2): IAD against best-of-n at equal n."""

from collections.abc import Mapping

from iad_policy.papers import (
    WEBSHOP,
    Claim,
    Difference,
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


SHOWN: Mapping[str, str] = {
    "1 improve on the best, avoid the worst's mistakes": "tests/iad_policy/prompts/test_instructions.py"
    "::test_an_instruction_has_its_words_for_one_proposal_and_for_several",
    "2 reflect on the previous action, in the shop": "tests/iad_policy/prompts/test_instructions.py"
    "::test_each_instruction_makes_another_question_of_the_same_feedback",
    "3 feedback on the incumbent under delta": "tests/iad_policy/strategies/building_blocks/test_feedback.py"
    "::test_best_and_worst_are_the_incumbent_under_delta_and_what_it_was_compared_with",
    "4 best and worst of the new one and the incumbent": "tests/iad_policy/strategies/building_blocks/test_feedback.py"
    "::test_best_and_worst_are_the_incumbent_under_delta_and_what_it_was_compared_with",
    "5 BIRD: a judge gives reward and text": "tests/iad_policy/papers/test_presets.py"
    "::test_a_judge_of_a_preset_is_the_agents_model_and_is_left_out_without_one",
    "9 figure 4: accuracy, Pass@K and Majority@K": "tests/iad_policy/report/test_paper_figures.py"
    "::test_figure_4_has_accuracy_majority_and_pass_at_k",
    "8 the version that states a value": "tests/iad_policy/papers/test_presets.py"
    "::test_a_preset_is_printed_with_the_run_and_recorded",
}
DIFFERS: Mapping[str, Difference] = {
    "6 a critic that sees the reference": Difference(
        "In IAD-fb and Sk2code the judge's text is by a model that sees the reference. Here the critic is the agent's "
        "model and sees what the agent sees; only the score is by the reference.",
        "settings",
        ("IAD/Sketch2Code-v0",),
    ),
    "7 as many texts as proposals": Difference(
        "Tables have K = N texts of the judge. Of n proposals the first is made without feedback, so at most n - 1 "
        "texts are read.",
        "settings",
        ("IAD/Sketch2Code-v0",),
    ),
    "10 the trends of version 2": Difference(
        "Of the trends, those of the shop are compared here: IAD against best-of-n at n = 2 and 4.", "comparison"
    ),
    "10a the policy": Difference(
        "The policy is a model on features of the page. When it refines, it samples among the actions that it did not "
        "try yet, as it can't read feedback.",
        "comparison",
    ),
    "10b the verifier": Difference("The verifier is the proxy, which reads no gold.", "comparison"),
    "10c learning": Difference("Learning from IAD's own candidates is not in the paper.", "comparison"),
    "11 image IoU": Difference(
        "The paper's image score is CLIP's. Here it is Sketch2Code's IoU of the images' boxes, as its code has it.",
        "settings",
        ("IAD/Sketch2Code-v0",),
    ),
}
V1_SHOP = {"temperature": "v1", "bon-sc.temperature": "v1", "top_p": "v1", "stop": "v1", "instruct": "v1"}
"""Settings of the shop that version 1 states. Version 2 states n alone."""

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
            "feedback": "best-worst",
            "instruct": "reflect",
        },
        sections=V1_SHOP,
        ours={"delta": 0.0, "agent_args": {"max_tokens": 1024}},
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
            "feedback": "best-worst",
            "instruct": "reflect",
        },
        sections=V1_SHOP,
        ours={"delta": 0.0, "agent_args": {"max_tokens": 1024}},
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
            "instruct": "reflect",
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
            "instruct": "improve",
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
            "instruct": "improve",
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
        stated={
            "n": 4,
            "strategy_args": {"chains.n": 40, "chains.k": 10},
            "verifier": "judge:{model}",
            "feedback": "best-worst-judge",
            "instruct": "improve",
        },
        sections={"verifier": "v2, A.5 and B.1", "feedback": "v2, A.5 and B.1", "instruct": "v2, eq. 5"},
        ours={"temperature": 0.7, "delta": 0.0, "env_args": {"mode": "answer"}},
        model="GPT-4o and Gemini 1.5 Pro",
        published="EX of iad with chains on the dev set: 65.97 and 68.05",
        notes=(
            "Three rounds of feedback: n = 4. Up to ten chains, whose best candidates vote by result; best-of-N goes "
            "to n = 20 (--n). The dev set has 1,534 questions.",
        ),
        figures={
            "4": (
                FigurePanel(
                    strategies=("bon", "bon-sc", "iad"),
                    title="accuracy (bon-sc: Majority@K)",
                    metric="success",
                ),
                FigurePanel(
                    strategies=("bon", "iad"),
                    title="Pass@K: the best by the true score",
                    options={"verifier": "oracle"},
                    metric="success",
                ),
            ),
        },
    ),
    "iad/bash": Experiment(
        env="IAD/InterCodeBash-v0",
        source="arXiv 2504.01931 v2, figure 8",
        strategies=("single", "bon", "iad"),
        stated={"feedback": "best-worst", "instruct": "improve"},
        sections={"feedback": "v2, eqs 3-4", "instruct": "v2, eq. 5"},
        ours={"n": 3, "delta": 0.0, "env_args": {"published": True, "max_steps": 10}},
        model="GPT-4",
        published="Accuracy against proposals as a curve, without a table",
        notes=("The figure's horizontal axis is the number of proposals. InterCode has 200 tasks, ten turns each.",),
    ),
}
