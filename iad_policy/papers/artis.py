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
