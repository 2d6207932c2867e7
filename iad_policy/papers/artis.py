"""ARTIS: rehearse in a simulator, then act. What the simulator has to know, and what becomes of each part."""

from iad_policy.papers import Claim, Laboratory, MeasuredArm, Paper

AGENT = "plan-following"
N = 5
N_JUDGED = 10
"""Attempts where the learned evaluator judges them."""
TEMPERATURES = (0.0, 1.0, 3.0)
"""Of the agents whose episodes the evaluator learns from: of different skill."""


def stages(here: Laboratory) -> None:
    """Train a simulator on what agents did, one that is driven by failures, and an evaluator of attempts."""
    for driven in ("normal", "failures"):
        here.simulator(driven, "outcomes.jsonl", tasks=60, driven=driven)
    episodes = [here.explored(f"episodes-{heat:g}", tasks=400, episodes=1, temperature=heat) for heat in TEMPERATURES]
    here.trained("evaluator", "evaluator", episodes, backend="linear")  # no language model judges attempts


def rehearsing(simulator: str, n: int = N, evaluator: str = "", **options: bool) -> MeasuredArm:
    """Return the arm that rehearses n times in a simulator."""
    settings = {f"artis.{name}": value for name, value in options.items()}
    return MeasuredArm(AGENT, "artis", {"n": n, "strategy_args": settings}, simulator=simulator, evaluator=evaluator)


ARTIS = Paper(
    "ARTIS in the shop",
    "ARTIS, tables 1 to 4 (BFCL v3 multi-turn base, Qwen3-8B)",
    (
        "The environment is the shop, where nothing that is rehearsed has side effects. The paper's are tools.",
        "The agent is rule-based and follows the plan in its notes. Evaluator and summariser are templates. The "
        "learned evaluator is a linear model of whether an attempt succeeds.",
        "Simulators are a linear model of the type of an outcome, and recordings. The paper's is Llama 3.1 8B.",
    ),
    stages,
    {
        "direct": MeasuredArm(AGENT),
        "untrained": rehearsing("retrieval"),
        "normal": rehearsing("normal"),
        "failure-driven": rehearsing("failures"),
        "perfect": rehearsing("perfect"),
        "perfect, n = 1": rehearsing("perfect", 1),
        "perfect, n = 3": rehearsing("perfect", 3),
        "learned evaluator, n = 10": rehearsing("perfect", N_JUDGED, "evaluator"),
        "no evaluation, n = 10": rehearsing("perfect", N_JUDGED, evaluate=False),
        "no evaluation": rehearsing("perfect", evaluate=False),
        "no summary": rehearsing("perfect", summarise=False),
    },
    (
        Claim("R1 untrained > direct", "untrained", "direct", "25.5 > 21.0"),
        Claim("R1 normal > untrained", "normal", "untrained", "27.0 > 25.5"),
        Claim("R1 failure-driven > normal", "failure-driven", "normal", "29.5 > 27.0"),
        Claim("R1 perfect > failure-driven", "perfect", "failure-driven", "30.5 > 29.5"),
        Claim("R1 perfect > direct", "perfect", "direct", "30.5 > 21.0"),
        Claim("R3 n = 3 > n = 1", "perfect, n = 3", "perfect, n = 1", "28.5 > 25.0"),
        Claim("R3 n = 5 > n = 3", "perfect", "perfect, n = 3", "29.5 > 28.5"),
        Claim("R4 direct > no evaluation", "direct", "no evaluation", "below direct"),
        Claim("R4 direct > no summary", "direct", "no summary", "below direct"),
        Claim(
            "R5 learned evaluator > no evaluation",
            "learned evaluator, n = 10",
            "no evaluation, n = 10",
            "the gain follows the evaluator",
        ),
    ),
)


SPOILT = "verifier:noisy:0.5:proxy"
"""An evaluator that is the environment's own verifier with noise of this standard deviation on its scores."""
BASE = {"env_args": {"category": "multi_turn_base"}}
"""Where the paper's trends were measured."""
UNSKILLED = "plan-following:caller:3"
"""A weak actor: the rule-based agent at three times its temperature."""


def rehearsing_turns(simulator: str = "perfect", n: int = N, *, agent: str = AGENT, **options: object) -> MeasuredArm:
    """Return the arm that rehearses each user turn n times."""
    settings = {f"artis.{name}": value for name, value in options.items() if name != "evaluator"}
    evaluator = str(options.get("evaluator", ""))
    how = {"n": n, "strategy_args": settings, **BASE}
    return MeasuredArm(agent, "artis", how, simulator=simulator, evaluator=evaluator)


def simulators(here: Laboratory) -> None:
    """Train a simulator on what agents did with the functions, and one that is driven by failures."""
    for driven in ("normal", "failures"):
        here.simulator(driven, "outcomes.jsonl", tasks=96, driven=driven)


TURNS = Paper(
    "ARTIS with function calls",
    "ARTIS, tables 1 to 4 (BFCL v3 multi-turn, Qwen3-8B; R: base category)",
    (
        "The tasks are the 24 bundled test scenarios of the base category. The paper's table 1 has 200 in four ways.",
        "The agent is rule-based and follows the plan in its notes. Evaluator and summariser are templates over the "
        "proxy verifier. The weak evaluator is that verifier with noise, the weak actor the agent at temperature 3.",
        "Simulators are a linear model of the type of an outcome, and recordings. The paper's is Llama 3.1 8B.",
    ),
    simulators,
    {
        "direct": MeasuredArm(AGENT, options=BASE),
        "weighted-bon": MeasuredArm(AGENT, "weighted-bon", {"n": N, **BASE}),
        "sequential-revision": MeasuredArm(AGENT, "sequential-revision", {"n": N, **BASE}),
        "parallel": rehearsing_turns(mode="parallel"),
        "sequential": rehearsing_turns(),
        "untrained": rehearsing_turns("retrieval"),
        "normal": rehearsing_turns("normal"),
        "failure-driven": rehearsing_turns("failures"),
        "n = 1": rehearsing_turns(n=1),
        "n = 3": rehearsing_turns(n=3),
        "n = 8": rehearsing_turns(n=8),
        "n = 10": rehearsing_turns(n=10),
        "no evaluation": rehearsing_turns(evaluate=False),
        "no summary": rehearsing_turns(summarise=False),
        "weak evaluator": rehearsing_turns(evaluator=SPOILT),
        "weak actor": MeasuredArm(UNSKILLED, options=BASE),
        "weak actor, sequential": rehearsing_turns(agent=UNSKILLED),
    },
    (
        Claim("T1 weighted-bon > direct", "weighted-bon", "direct", "15.5 > 12.88"),
        Claim("T1 sequential-revision > direct", "sequential-revision", "direct", "16.5 > 12.88"),
        Claim("T1 parallel > sequential-revision", "parallel", "sequential-revision", "17.75 > 16.5"),
        Claim("T1 sequential > parallel", "sequential", "parallel", "18.75 > 17.75"),
        Claim("T1 sequential > direct", "sequential", "direct", "18.75 > 12.88"),
        Claim("R1 untrained > direct", "untrained", "direct", "25.5 > 21.0"),
        Claim("R1 normal > untrained", "normal", "untrained", "27.0 > 25.5"),
        Claim("R1 failure-driven > normal", "failure-driven", "normal", "29.5 > 27.0"),
        Claim("R1 perfect > failure-driven", "sequential", "failure-driven", "30.5 > 29.5"),
        Claim("R3 n = 3 > n = 1", "n = 3", "n = 1", "28.5 > 25.0"),
        Claim("R3 n = 5 > n = 3", "sequential", "n = 3", "29.5 > 28.5"),
        Claim("R3 n = 10 > n = 5", "n = 10", "sequential", "30.5 > 29.5"),
        Claim("R4 direct > no evaluation", "direct", "no evaluation", "below direct"),
        Claim("R4 direct > no summary", "direct", "no summary", "below direct"),
        Claim("R5 own evaluator > weak one", "sequential", "weak evaluator", "the gain follows the evaluator"),
        Claim("R6 weak actor: direct > sequential", "weak actor", "weak actor, sequential", "11.0 > 6.0"),
    ),
)
