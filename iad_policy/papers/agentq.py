"""Agent Q (arXiv 2408.07199): DPO on outcomes, and on search trees without and with a critic."""

from collections.abc import Mapping

from iad_policy.papers import WEBSHOP, Claim, Experiment, Laboratory, MeasuredArm, PaperComparison


def stages(here: Laboratory) -> None:
    """Imitate ten demonstrations, then train on episodes and on search trees of that policy."""
    here.trained("base", "bc", here.explored("demos", tasks=120, episodes=1, temperature=0.0), demos=10)
    episodes = here.explored("episodes", agent="base", tasks=300)
    here.trained("rft", "rft", episodes)
    here.trained("outcome-dpo", "eto", episodes, start="base", beta=0.5)
    trees = here.explored("search", agent="base", how="mcts", tasks=40, critic="proxy")
    here.trained("step-dpo", "dpo", trees, start="base", alpha=1.0)
    here.trained("agent-q", "dpo", trees, start="base", alpha=0.5)


TRAINED = {name: MeasuredArm(name) for name in ("base", "rft", "outcome-dpo", "step-dpo", "agent-q")}
SEARCHING = {f"{name} + mcts": MeasuredArm(name, "mcts", {"n": 4, "strategy_args": {"mcts.k": 2}}) for name in TRAINED}
DIFFERS = (
    "The policy is a model on features of the page, and begins with ten demonstrations. The paper's is xLAM or "
    "Llama 3 with a prompt.",
    "The critic that ranks proposals is the proxy verifier. The paper's is the language model itself.",
    "Labels are soft (sigmoid(margin / .2)), and training stops at a KL of .5 nat. The paper's are hard.",
    "Searching at the end uses the proxy verifier as the reward, not the true one.",
)
SETTINGS = {"n": 10, "strategy_args": {"mcts.k": 3, "mcts.c_exp": 1.0}, "agent_args": {"max_tokens": 1024}}

EXPERIMENTS: Mapping[str, Experiment] = {
    "agent-q/webshop": Experiment(
        env=WEBSHOP,
        source="Agent Q, arXiv 2408.07199: a base model with MCTS",
        strategies=("single", "mcts"),
        ours=SETTINGS,
        agent="composite",
        model="xLAM-v0.1-r",
        published="Success in per cent: 28.6, with MCTS 48.4, Agent Q with MCTS 50.5",
        notes=(
            "The paper gives neither K (its figure 4 draws three proposals), iterations nor the weight of exploring. "
            "Its outcome is 1 or 0, by the environment or a model; here it is the verifier's score of the last step.",
            "The shop's 12,087 instructions are split there into 11,000 for training and 1,087.",
        ),
        comparison=PaperComparison(
            title="Agent Q on WebShop",
            source="arXiv 2408.07199, figures 3 and 4 and the text of section 5",
            differs=DIFFERS,
            stages=stages,
            arms={**TRAINED, **{name: arm for name, arm in SEARCHING.items() if arm.agent != "rft"}},
            claims=(
                Claim("A1 rft > base", "rft", "base", "31.3 > 28.6"),
                Claim("A1 outcome-dpo > rft", "outcome-dpo", "rft", "37.5 (text: 40.6) > 31.3"),
                Claim("A2 step-dpo > outcome-dpo", "step-dpo", "outcome-dpo", "OpenTable: 75.2 > 71.8"),
                Claim("A2 agent-q > step-dpo", "agent-q", "step-dpo", "OpenTable: 81.7 > 75.2"),
                Claim("A2 agent-q > outcome-dpo", "agent-q", "outcome-dpo", "+0.9"),
                Claim("A4 base + mcts > agent-q", "base + mcts", "agent-q", "48.4 > 41.5"),
                Claim("A5 agent-q + mcts > agent-q", "agent-q + mcts", "agent-q", "50.5 > 41.5"),
                Claim("A5 agent-q + mcts > base + mcts", "agent-q + mcts", "base + mcts", "50.5 > 48.4"),
            ),
        ),
    ),
    "agent-q/opentable": Experiment(
        env="IAD/Booking-v0",
        source="Agent Q, arXiv 2408.07199: restaurant booking with MCTS",
        strategies=("single", "mcts"),
        ours=SETTINGS,
        agent="composite",
        model="Llama 3 70B",
        published="Success in per cent: 18.6, Agent Q 81.7, Agent Q with MCTS 95.4",
        notes=(
            "Run there on OpenTable's live site, with GPT-4V as the judge of the last page. The history holds the "
            "actions and the last page only. K, iterations and the weight of exploring are not stated.",
            "Success there, in per cent: Llama-3-70B 18.6, GPT-4o 62.6, RFT 67.2, DPO 71.8, outcome-only step DPO "
            "75.2, Agent Q 81.7, RFT + MCTS 84.3, Agent Q + MCTS 95.4. The site and its tasks are ours, so these are "
            "not comparable with figures from here.",
        ),
        comparison=PaperComparison(
            title="Agent Q on restaurant booking",
            source="arXiv 2408.07199, figure 6 and section 6: OpenTable, success in per cent",
            differs=(
                *DIFFERS,
                "The site, its restaurants and its tasks are our own, and success is checked in the site's data.",
            ),
            stages=stages,
            arms={**TRAINED, **SEARCHING},
            claims=(
                Claim("B1 rft > base", "rft", "base", "67.2 > 18.6"),
                Claim("B1 outcome-dpo > rft", "outcome-dpo", "rft", "71.8 > 67.2"),
                Claim("B2 step-dpo > outcome-dpo", "step-dpo", "outcome-dpo", "75.2 > 71.8"),
                Claim("B2 agent-q > step-dpo", "agent-q", "step-dpo", "81.7 > 75.2"),
                Claim("B2 agent-q > outcome-dpo", "agent-q", "outcome-dpo", "81.7 > 71.8"),
                Claim("B4 rft + mcts > agent-q", "rft + mcts", "agent-q", "84.3 > 81.7"),
                Claim("B5 agent-q + mcts > agent-q", "agent-q + mcts", "agent-q", "95.4 > 81.7"),
                Claim("B5 agent-q + mcts > rft + mcts", "agent-q + mcts", "rft + mcts", "95.4 > 84.3"),
            ),
            envs=("IAD/Booking-v0", "IAD/BookingBrowser-v0"),
        ),
    ),
}
