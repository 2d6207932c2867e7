"""Agent Q: outcome DPO, step DPO from search trees without and with a critic, each without and with search."""

from iad_policy.papers import Claim, Laboratory, MeasuredArm, Paper

SEARCH = {"n": 4, "strategy_args": {"mcts.k": 2}}


def stages(here: Laboratory) -> None:
    """Imitate ten demonstrations, then train on episodes and on search trees of that policy."""
    here.trained("base", "bc", here.explored("demos", tasks=120, episodes=1, temperature=0.0), demos=10)
    episodes = here.explored("episodes", agent="base", tasks=300)
    here.trained("rft", "rft", episodes)
    here.trained("outcome-dpo", "eto", episodes, start="base", beta=0.5)
    trees = here.explored("search", agent="base", how="mcts", tasks=40, critic="proxy")
    here.trained("step-dpo", "dpo", trees, start="base", alpha=1.0)
    here.trained("agent-q", "dpo", trees, start="base", alpha=0.5)


DIFFERS = (
    "The policy is a model on features of the page, and begins with ten demonstrations. The paper's is xLAM or "
    "Llama 3 with a prompt.",
    "The critic that ranks proposals is the proxy verifier. The paper's is the language model itself.",
    "Labels are soft (sigmoid(margin / .2)), and training stops at a KL of .5 nat. The paper's are hard.",
    "Searching at the end uses the proxy verifier as the reward, not the true one.",
)
TRAINED = ("base", "rft", "outcome-dpo", "step-dpo", "agent-q")
SEARCHING = {f"{name} + mcts": MeasuredArm(name, "mcts", SEARCH) for name in TRAINED}

AGENTQ = Paper(
    "Agent Q on WebShop",
    "arXiv 2408.07199, figures 3 and 4 and the text of section 5",
    DIFFERS,
    stages,
    {
        **{name: MeasuredArm(name) for name in TRAINED},
        **{name: arm for name, arm in SEARCHING.items() if arm.agent != "rft"},
    },
    (
        Claim("A1 rft > base", "rft", "base", "31.3 > 28.6"),
        Claim("A1 outcome-dpo > rft", "outcome-dpo", "rft", "37.5 (text: 40.6) > 31.3"),
        Claim("A2 step-dpo > outcome-dpo", "step-dpo", "outcome-dpo", "OpenTable: 75.2 > 71.8"),
        Claim("A2 agent-q > step-dpo", "agent-q", "step-dpo", "OpenTable: 81.7 > 75.2"),
        Claim("A2 agent-q > outcome-dpo", "agent-q", "outcome-dpo", "+0.9"),
        Claim("A4 base + mcts > agent-q", "base + mcts", "agent-q", "48.4 > 41.5"),
        Claim("A5 agent-q + mcts > agent-q", "agent-q + mcts", "agent-q", "50.5 > 41.5"),
        Claim("A5 agent-q + mcts > base + mcts", "agent-q + mcts", "base + mcts", "50.5 > 48.4"),
    ),
)

BOOKING = Paper(
    "Agent Q on restaurant booking",
    "arXiv 2408.07199, figure 6 and section 6: OpenTable, success in per cent",
    (*DIFFERS, "The site, its restaurants and its tasks are our own, and success is checked in the site's data."),
    stages,
    {**{name: MeasuredArm(name) for name in TRAINED}, **SEARCHING},
    (
        Claim("B1 rft > base", "rft", "base", "67.2 > 18.6"),
        Claim("B1 outcome-dpo > rft", "outcome-dpo", "rft", "71.8 > 67.2"),
        Claim("B2 step-dpo > outcome-dpo", "step-dpo", "outcome-dpo", "75.2 > 71.8"),
        Claim("B2 agent-q > step-dpo", "agent-q", "step-dpo", "81.7 > 75.2"),
        Claim("B2 agent-q > outcome-dpo", "agent-q", "outcome-dpo", "81.7 > 71.8"),
        Claim("B4 rft + mcts > agent-q", "rft + mcts", "agent-q", "84.3 > 81.7"),
        Claim("B5 agent-q + mcts > agent-q", "agent-q + mcts", "agent-q", "95.4 > 81.7"),
        Claim("B5 agent-q + mcts > rft + mcts", "agent-q + mcts", "rft + mcts", "95.4 > 84.3"),
    ),
)
"""The paper's second experiment, which has longer episodes than the first."""
