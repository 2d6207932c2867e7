"""Iterative agent decoding (arXiv 2504.01931, versions 1 and 2): IAD against best-of-n at equal n."""

from collections.abc import Mapping
from typing import Any

from iad_policy.papers import (
    WEBSHOP,
    ArmPicture,
    Claim,
    Experiment,
    FigurePanel,
    Laboratory,
    MeasuredArm,
    PaperComparison,
    PaperDifference,
    Settings,
    of_success,
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
    "::test_best_and_worst_are_as_in_the_paper",
    "4 best and worst of the new one and the incumbent": "tests/iad_policy/strategies/building_blocks/test_feedback.py"
    "::test_best_and_worst_are_as_in_the_paper",
    "5 BIRD: a judge gives reward and text": "tests/iad_policy/papers/test_presets.py"
    "::test_a_judge_of_a_preset_is_the_agents_model_and_is_left_out_without_one",
    "6 a judge that sees the reference gives the text": "tests/iad_policy/papers/test_presets.py"
    "::test_the_sketches_preset_has_a_critic_that_sees_the_reference_and_says_so",
    "8 the version that states a value": "tests/iad_policy/papers/test_presets.py"
    "::test_a_preset_is_printed_with_the_run_and_recorded",
    "9 figure 4: accuracy, Pass@K and Majority@K": "tests/iad_policy/report/test_paper_figures.py"
    "::test_the_points_of_every_figure_are_those_that_were_looked_at",
}
SKETCH, BIRD, BASH = "IAD/Sketch2Code-v0", "IAD/BIRD-v0", "IAD/InterCodeBash-v0"
DIFFERS: Mapping[str, PaperDifference] = {
    "7 as many texts as proposals": PaperDifference(
        "The paper's tables have K = N texts of the judge. Here at most n - 1 are read, as the first of n proposals "
        "gets no feedback.",
        envs=(SKETCH,),
    ),
    "10 the shop": PaperDifference(
        "In the shop, IAD is compared with best-of-n at n = 2 and 4. Figure 8 (a weak model on a fifth of the tasks) "
        "is not tested here: use the preset iad/webshop-subset and `iad sweep`.",
        "comparison",
        (WEBSHOP,),
    ),
    "10a the policy": PaperDifference(
        "The policy is a model on features of the page. When it refines, it samples among the actions that it has not "
        "tried yet, as it can't read feedback.",
        "training",
    ),
    "10b the verifier": PaperDifference("The verifier is the proxy, which reads no gold.", "training"),
    "10c learning": PaperDifference("Learning from IAD's own candidates is not in the paper.", "training"),
    "10e the judge": PaperDifference(
        "The score that guides the methods is the proxy verifier's, not a judge's.", "comparison", (BIRD, BASH)
    ),
    "11 image IoU": PaperDifference(
        "The paper's image score is CLIP's. Here it is Sketch2Code's IoU of the images' boxes, as its code has it.",
        "settings",
        (SKETCH,),
    ),
}
V1_SHOP = {"temperature": "v1", "bon-sc.temperature": "v1", "top_p": "v1", "iad.stop": "v1", "instruct": "v1"}
"""Settings of the shop that version 1 states. Version 2 states n alone."""


def measured(strategy: str, n: int = 1, **options: Any) -> MeasuredArm:
    """Return an arm with the paper's feedback and instruction."""
    own = {"feedback": "best-worst", "instruct": "improve"} if strategy in ("iad", "chains") else {}
    return MeasuredArm("", strategy, {"n": n, **own, **options})


NS = (2, 4, 6)
ASKED_ONCE: Settings = {"env_args": {"mode": "answer"}, "temperature": 0.7}
AS_PUBLISHED: Settings = {"env_args": {"published": True, "max_steps": 10}, "temperature": 0.7}
LAYOUT = "reference:layout"
CRITICS = {f"{name}.critic": "reference" for name in ("sk2code-feedback", "iad-fb")}
"""The judge that gives the text. It sees the reference, and Self-Refine has none."""
COLD = {"temperature": 0.1}
SKETCHES: Mapping[str, MeasuredArm] = {
    "single": measured("single"),
    **{f"{name}, n = {n}": measured(name, n, verifier=LAYOUT) for name in ("bon", "iad") for n in NS},
    "self-refine, n = 6": measured("self-refine", 6, verifier=LAYOUT),
    **{
        f"{name}, n = 6": measured(name, 6, verifier=LAYOUT, roles={"critic": "reference"})
        for name in ("sk2code-feedback", "iad-fb")
    },
    **{f"{name}, n = 6, cold": measured(name, 6, verifier=LAYOUT, **COLD) for name in ("bon", "iad")},
    **{f"{name}, n = 2, sparse": measured(name, 2, verifier=f"sparse:high:{LAYOUT}") for name in ("bon", "iad")},
    **{f"{name}, n = 2, noisy": measured(name, 2, verifier=f"noisy:0.2:{LAYOUT}") for name in ("bon", "iad")},
    "iad, n = 2, scalar": measured("iad", 2, verifier=LAYOUT, feedback="scalar"),
}
OF_SKETCHES = (
    Claim("bon > single", "bon, n = 6", "single", "figure 3"),
    *(
        Claim(f"iad > bon, n = {n}", f"iad, n = {n}", f"bon, n = {n}", published)
        for n, published in zip(NS, ("24.78 > 21.45", "25.97 > 24.02", "26.75 > 25.75"), strict=True)
    ),
    Claim(
        "the gap shrinks, n = 2 to 6",
        "iad, n = 2",
        "bon, n = 2",
        "+3.33 > +1.00",
        beyond=("iad, n = 6", "bon, n = 6"),
    ),
    Claim("iad > self-refine", "iad, n = 6", "self-refine, n = 6", "26.75 > 19.89"),
    Claim("iad > sk2code-feedback", "iad, n = 6", "sk2code-feedback, n = 6", "26.75 > 21.43"),
    Claim("iad-fb > iad", "iad-fb, n = 6", "iad, n = 6", "27.95 > 26.75"),
    Claim("temperature 0.1: iad > bon", "iad, n = 6, cold", "bon, n = 6, cold", "figure 6: above 26 > 21.9"),
    Claim("sparse: iad > bon", "iad, n = 2, sparse", "bon, n = 2, sparse", "figure 7"),
    Claim("noisy: iad > bon", "iad, n = 2, noisy", "bon, n = 2, noisy", "figure 7"),
    Claim("best and worst > scalar", "iad, n = 2", "iad, n = 2, scalar", "figure 7"),
)
PICTURES_OF_SKETCHES = (
    ArmPicture(
        "figure 3, layout score by n",
        {
            "single": None,
            "bon, n = 2": 21.45,
            "bon, n = 4": 24.02,
            "bon, n = 6": 25.75,
            "iad, n = 2": 24.78,
            "iad, n = 4": 25.97,
            "iad, n = 6": 26.75,
        },
        "layout score x 100, Gemini 1.5 Flash",
        metric="reward",
        x="n",
    ),
    ArmPicture(
        "layout score at n = 6",
        {
            "bon, n = 6": 25.75,
            "self-refine, n = 6": 19.89,
            "sk2code-feedback, n = 6": 21.43,
            "iad, n = 6": 26.75,
            "iad-fb, n = 6": 27.95,
        },
        "layout score x 100, Gemini 1.5 Flash",
        metric="reward",
    ),
    ArmPicture(
        "figures 6 and 7, temperature 0.1, scores with gaps or noise, and the form of feedback",
        {
            name: None
            for name in SKETCHES
            if name.endswith(("cold", "sparse", "noisy", "scalar")) or name in ("bon, n = 2", "iad, n = 2")
        },
        "curves without numbers; at temperature 0.1,\niad is above 26 and bon near 21.9",
        metric="reward",
    ),
)

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
            "strategy_args": {"bon-sc.temperature": 0.6, "iad.stop": "passed"},
            "agent_args": {"top_p": 1},
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
            title="Iterative agent decoding, and learning from it",
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
                Claim("iad > bon, n = 4", "iad, n = 4", "bon, n = 4", "all tables"),
                Claim("iad > bon, n = 2", "iad, n = 2", "bon, n = 2", "all tables"),
                Claim("learned from iad > single", "after-iad", "single", "not in the paper"),
                Claim("learned and iad > iad", "after-iad, iad, n = 4", "iad, n = 4", "not in the paper"),
            ),
            pictures=(
                ArmPicture(
                    "success by n in the shop",
                    {
                        "single": 29.3,
                        "bon, n = 2": None,
                        "bon, n = 4": None,
                        "iad, n = 2": None,
                        "iad, n = 4": 38.3,
                    },
                    "success in per cent, Gemini 1.5 Pro, version 1",
                    x="n",
                ),
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
            "strategy_args": {"bon-sc.temperature": 0.6, "iad.stop": "passed"},
            "agent_args": {"top_p": 1},
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
            "strategy_args": {"bon-sc.temperature": 0.6, "iad.stop": "passed"},
            "agent_args": {"top_p": 1},
            "instruct": "reflect",
        },
        ours={"feedback": "best-worst-judge:300:200", "delta": 0.0, "agent_args": {"max_tokens": 1024}},
        model="Gemini 1.5 Pro and GPT-4o",
        published="Success in per cent as in version 2, single, bon-sc and iad: 29.3, 30.31, 38.3 and 40.3, 41.09, "
        "44.68",
        notes=(FINALISE, "delta: Algorithm 1 asks for more than 0, the text calls 0 its special case."),
    ),
    "iad/sketch2code": Experiment(
        env=SKETCH,
        source="arXiv 2504.01931 v2",
        strategies=("single", "bon", "self-refine", "sk2code-feedback", "iad-fb", "iad"),
        stated={
            "n": 6,
            "temperature": 0.6,
            "verifier": "reference:layout",
            "strategy_args": {"iad.feedback": "best-worst:300", "iad-fb.feedback": "best-worst-judge:300:100"},
            "roles": CRITICS,
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
        comparison=PaperComparison(
            title="Iterative agent decoding on sketches",
            source="arXiv 2504.01931 v2, figures 3, 5, 6 and 7: layout score, Gemini 1.5 Flash",
            stages=None,
            arms=SKETCHES,
            claims=OF_SKETCHES,
            pictures=PICTURES_OF_SKETCHES,
            envs=(SKETCH,),
            needs_model=True,
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
        env=SKETCH,
        source="arXiv 2504.01931 v1",
        strategies=("single", "bon", "self-refine", "sk2code-feedback", "iad-fb", "iad"),
        stated={
            "n": 6,
            "temperature": 0.5,
            "verifier": "reference:layout",
            "strategy_args": {"iad.feedback": "best-worst:400", "iad-fb.feedback": "best-worst-judge:400:200"},
            "roles": CRITICS,
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
        env=BIRD,
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
        comparison=PaperComparison(
            title="Iterative agent decoding on questions to databases",
            source="arXiv 2504.01931 v2, figure 4 and the table of BIRD: execution accuracy",
            stages=None,
            arms={
                "single": measured("single", **ASKED_ONCE),
                **{
                    f"{name}, n = {n}": measured(name, n, **ASKED_ONCE)
                    for name in ("bon", "bon-sc", "iad")
                    for n in (2, 4)
                },
                "chains, n = 12": measured("chains", 12, **ASKED_ONCE),
                "bon-sc, n = 12": measured("bon-sc", 12, **ASKED_ONCE),
                "Pass@4": measured("bon", 4, verifier="oracle", **ASKED_ONCE),
            },
            claims=(
                of_success("iad > single", "iad, n = 4", "single", "figure 4"),
                of_success("iad > bon, n = 2", "iad, n = 2", "bon, n = 2", "figure 4"),
                of_success("iad > bon, n = 4", "iad, n = 4", "bon, n = 4", "figure 4"),
                of_success("iad > Majority@4", "iad, n = 4", "bon-sc, n = 4", "figure 4"),
                of_success("chains > Majority@12", "chains, n = 12", "bon-sc, n = 12", "65.97 and 68.05 with chains"),
                of_success("Pass@4 > iad", "Pass@4", "iad, n = 4", "figure 4: the bound of best-of-n"),
            ),
            pictures=(
                ArmPicture(
                    "figure 4, execution accuracy by n",
                    {
                        "single": None,
                        **{f"{name}, n = {n}": None for name in ("bon", "bon-sc", "iad") for n in (2, 4)},
                        "Pass@4": None,
                    },
                    x="n",
                ),
            ),
            envs=(BIRD,),
            needs_model=True,
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
        env=BASH,
        source="arXiv 2504.01931 v2, figure 8",
        strategies=("single", "bon", "iad"),
        stated={"feedback": "best-worst", "instruct": "improve"},
        sections={"feedback": "v2, eqs 3-4", "instruct": "v2, eq. 5"},
        ours={"n": 3, "delta": 0.0, "env_args": {"published": True, "max_steps": 10}},
        model="GPT-4",
        published="Accuracy against proposals as a curve, without a table",
        notes=("The figure's horizontal axis is the number of proposals. InterCode has 200 tasks, ten turns each.",),
        comparison=PaperComparison(
            title="Iterative agent decoding in the shell",
            source="arXiv 2504.01931 v2, figure 8: InterCode Bash, GPT-4, a curve",
            stages=None,
            arms={
                "single": measured("single", **AS_PUBLISHED),
                **{f"{name}, n = {n}": measured(name, n, **AS_PUBLISHED) for name in ("bon", "iad") for n in (2, 4)},
            },
            claims=(
                of_success("bon > single", "bon, n = 4", "single", "figure 8"),
                of_success("iad > bon, n = 2", "iad, n = 2", "bon, n = 2", "figure 8"),
                of_success("iad > bon, n = 4", "iad, n = 4", "bon, n = 4", "figure 8"),
            ),
            pictures=(
                ArmPicture(
                    "figure 8, success by proposals",
                    {"single": None, **{f"{name}, n = {n}": None for name in ("bon", "iad") for n in (2, 4)}},
                    x="proposals",
                ),
            ),
            envs=(BASH,),
            needs_model=True,
        ),
    ),
}
