"""ARTIS: attempts in a simulator, then one execution. What the simulator has to know, and what each part is worth."""

from collections.abc import Mapping

from iad_policy.papers import (
    WEBSHOP,
    ArmPicture,
    Claim,
    Experiment,
    Laboratory,
    MeasuredArm,
    PaperComparison,
    PaperDifference,
)


def stages(here: Laboratory) -> None:
    """Train a simulator on what agents did, one that is driven by failures, and an evaluator of attempts."""
    for name, share in (("normal", 0.0), ("failures", 1.0)):
        here.simulator(name, "outcomes.jsonl", tasks=60, failures=share)
    episodes = [
        here.explored(f"episodes-{heat:g}", tasks=400, episodes=1, temperature=heat) for heat in (0.0, 1.0, 3.0)
    ]
    here.trained("evaluator", "evaluator", episodes, backend="linear")  # no language model judges attempts


AGENT = "plan-following"


def rehearsing(simulator: str = "perfect", n: int = 5, evaluator: str = "", **options: bool) -> MeasuredArm:
    """Return the arm that makes n attempts in a simulator, with options of the strategy."""
    how = {"n": n, "strategy_args": {f"artis.{name}": value for name, value in options.items()}}
    return MeasuredArm(AGENT, "artis", how, simulator=simulator, evaluator=evaluator)


SHOWN: Mapping[str, str] = {
    "4 a revision sees all earlier solutions": "tests/iad_policy/strategies/test_methods.py"
    "::test_a_revision_is_given_all_answers_before_it_and_the_text_about_the_last",
    "5 scores and evaluations by language models": "tests/iad_policy/papers/test_presets.py"
    "::test_in_artis_models_score_and_evaluate_where_there_is_one",
    "6 arms without evaluation and summary, and N = 12": "tests/iad_policy/learn/test_reproduce.py"
    "::test_artis_has_the_published_arms",
}
DIFFERS: Mapping[str, PaperDifference] = {
    "1 the simulator": PaperDifference(
        "The paper's simulator is Llama 3.1 8B, trained by LoRA (rank 16, batch 64, cosine, at most 3 epochs). The "
        "arms here are a linear model of the type of an outcome, and recordings. `iad train simulator --backend "
        "hf:<model>` trains a language model as published, for --simulator llm:<folder>.",
        "comparison",
    ),
    "1a the simulator of a run": PaperDifference(
        "Without --simulator learned:<folder> or llm:<model>, attempts are made in a fork of the environment, the "
        "paper's perfect simulator.",
        "settings",
    ),
    "2 what the simulator sees": PaperDifference(
        "Equation 7 gives the simulator the initial state and the whole history. Here the initial state is what an "
        "agent sees of it: the contents of tools and databases are hidden from simulators.",
    ),
    "3 failure-driven data": PaperDifference(
        "Failures are recorded of several agents, and of actions made to fail: typos, stand-ins, and with tools calls "
        "that their schemas refuse; the kinds seen least are kept. The paper finds rare errors in the tools' code.",
        "comparison",
    ),
    "6a figures and tables": PaperDifference(
        "Success is drawn by simulator, by number of attempts and without evaluation or summary. The other tables and "
        "figures are not drawn. Table 2 is measured by `iad_policy.learn.fidelity`, with hashed n-grams for likeness.",
        "comparison",
    ),
    "6c attempts": PaperDifference(
        "Numbers of attempts are compared in the perfect simulator. The paper's are of another one: 29.5 with 5, where "
        "its perfect one has 30.5.",
        "comparison",
    ),
    "6b other environments": PaperDifference(
        "The environment is the shop, where nothing that is rehearsed has side effects. The paper's are tools.",
        "comparison",
        (WEBSHOP,),
    ),
    "7 tools": PaperDifference(
        "The paper's simulator is trained on 524 tools and MCP servers. tau2, API-Bank and ToolAlpaca are not among "
        "the environments; `iad_policy.bridges.described` takes tau2."
    ),
    "8 the agent": PaperDifference(
        "The agent is rule-based and follows the plan in its notes. Evaluator and summariser are templates. The "
        "learned evaluator is a linear model of whether an attempt succeeds.",
        "comparison",
    ),
    "8a temperatures": PaperDifference("Every role but the actor has temperature 0.01 there, and 0 here.", "settings"),
    "8b carried over": PaperDifference(
        "Run there on BFCL-v3 and ACEBench (artis/bfcl, artis/acebench), where what is simulated is one user turn: "
        "the settings are carried over, and an episode is the turn.",
        "settings",
        (WEBSHOP, "IAD/InterCodeBash-v0"),
    ),
}

IN_BFCL = "accuracy in per cent, Qwen3 8B,\nBFCL v3 multi-turn base"
PEAK = "gains peak at n = 8 to 10"
METHODS = ("single", "weighted-bon", "sequential-revision", "artis")
STATED = {
    "n": 5,
    "temperature": 1.0,
    "strategy_args": {"artis.mode": "sequential", "artis.depth": 20},
    "verifier": "judge:{model}",
}
OURS = {"agent_args": {"max_tokens": 1024}}
OF_TURNS = (
    "Of the parallel form, strategy argument artis.mode=parallel. Table 1 has Qwen3 with 8B, 14B and 32B; "
    "its gains peak at n = 8 to 10 (--n 8). Qwen3 thinks or not: agent argument thinking=true or false.",
)
CARRIED_OVER = ("Gains peak at n = 8 to 10 (--n 8).",)

EXPERIMENTS: Mapping[str, Experiment] = {
    "artis/bfcl": Experiment(
        env="IAD/BFCL-v0",
        source="ARTIS: sequential simulation of a user turn before it is executed, BFCL v3: its overall score is the "
        "mean of four categories of 200 tasks",
        strategies=METHODS,
        stated={**STATED, "env_args": {"category": "multi_turn"}},
        ours=OURS,
        model="Qwen3 8B",
        published="Overall, in per cent: single 12.88, weighted-bon 15.5, sequential-revision 16.5, artis 18.75",
        notes=OF_TURNS,
    ),
    "artis/acebench": Experiment(
        env="IAD/ACEBench-v0",
        source="ARTIS: sequential simulation of a user turn before it is executed, ACEBench multi-step: 20 tasks, so a "
        "task is 5 points",
        strategies=METHODS,
        stated={**STATED, "env_args": {"category": "agent_multi_step"}},
        ours=OURS,
        model="Qwen3 8B",
        published="End-to-end, in per cent: single 10.0, artis 40.0",
        notes=OF_TURNS,
    ),
    "artis/webshop": Experiment(
        env=WEBSHOP,
        source="ARTIS: sequential simulation before one execution",
        strategies=METHODS,
        stated=STATED,
        ours=OURS,
        model="Qwen3 8B",
        published="No figure of this environment. BFCL v3 overall, in per cent: single 12.88, artis 18.75",
        notes=CARRIED_OVER,
        comparison=PaperComparison(
            title="ARTIS",
            source="ARTIS, tables 1 to 4 (BFCL v3 multi-turn base, Qwen3-8B)",
            stages=stages,
            arms={
                "direct": MeasuredArm(AGENT),
                "untrained": rehearsing("retrieval"),
                "normal": rehearsing("normal"),
                "failure-driven": rehearsing("failures"),
                "perfect": rehearsing(),
                "perfect, n = 1": rehearsing(n=1),
                "perfect, n = 3": rehearsing(n=3),
                "learned evaluator, n = 10": rehearsing(n=10, evaluator="evaluator"),
                "no evaluation, n = 10": rehearsing(n=10, evaluate=False),
                "no evaluation": rehearsing(evaluate=False),
                "no summary": rehearsing(summarise=False),
                "no evaluation, no summary": rehearsing(evaluate=False, summarise=False),
                **{f"perfect, n = {n}": rehearsing(n=n) for n in (8, 10, 12, 15)},
            },
            claims=(
                Claim("R1 untrained > direct", "untrained", "direct", "25.5 > 21.0"),
                Claim("R1 normal > untrained", "normal", "untrained", "27.0 > 25.5"),
                Claim("R1 failure-driven > normal", "failure-driven", "normal", "29.5 > 27.0"),
                Claim("R1 perfect > failure-driven", "perfect", "failure-driven", "30.5 > 29.5"),
                Claim("R1 perfect > direct", "perfect", "direct", "30.5 > 21.0"),
                Claim("R3 n = 3 > n = 1", "perfect, n = 3", "perfect, n = 1", "28.5 > 25.0"),
                Claim("R3 n = 5 > n = 3", "perfect", "perfect, n = 3", "29.5 > 28.5"),
                Claim("R4 direct > no evaluation", "direct", "no evaluation", "below direct"),
                Claim("R4 direct > no summary", "direct", "no summary", "below direct"),
                Claim("R4 perfect > neither", "perfect", "no evaluation, no summary", "tables 5 and 6"),
                *(
                    Claim(f"R3 n = 8 not below n = {n}", "perfect, n = 8", f"perfect, n = {n}", PEAK, least=-0.01)
                    for n in (12, 15)
                ),
                Claim(
                    "R5 learned evaluator > no evaluation",
                    "learned evaluator, n = 10",
                    "no evaluation, n = 10",
                    "the gain follows the evaluator",
                ),
            ),
            pictures=(
                ArmPicture(
                    "success by simulator",
                    {"direct": 21.0, "untrained": 25.5, "normal": 27.0, "failure-driven": 29.5, "perfect": 30.5},
                    IN_BFCL,
                ),
                ArmPicture(
                    "success by number of attempts (here: in the perfect simulator)",
                    {
                        "perfect, n = 1": 25.0,
                        "perfect, n = 3": 28.5,
                        "perfect": 29.5,
                        "perfect, n = 8": 29.0,
                        "perfect, n = 10": 30.5,
                        "perfect, n = 12": 27.5,
                        "perfect, n = 15": 29.5,
                    },
                    IN_BFCL,
                    x="n",
                ),
                ArmPicture(
                    "success without evaluation and summary",
                    {
                        "direct": None,
                        "perfect": None,
                        "no summary": None,
                        "no evaluation": None,
                        "no evaluation, no summary": None,
                    },
                    "without both, below acting directly",
                ),
            ),
        ),
    ),
    "artis/bash": Experiment(
        env="IAD/InterCodeBash-v0",
        source="ARTIS: sequential simulation before one execution",
        strategies=METHODS,
        stated=STATED,
        ours=OURS,
        model="Qwen3 8B",
        published="No figure of this environment. BFCL v3 overall, in per cent: single 12.88, artis 18.75",
        notes=CARRIED_OVER,
    ),
}
