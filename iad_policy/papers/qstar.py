"""Q*Agent (arXiv 2502.02584, published as QLASS): values from trees of rollouts guide generation, and make data."""

from collections.abc import Mapping

from iad_policy.papers import WEBSHOP, Claim, Experiment, Laboratory, MeasuredArm, PaperComparison


def stages(here: Laboratory) -> None:
    """Imitate few and many demonstrations, then learn values from trees of the policy that saw many."""
    demos = here.explored("demos", tasks=300, episodes=1, temperature=0.0)
    for name, n in (("sft", 100), ("sft-few", 3)):
        here.trained(name, "bc", demos, demos=n)
        episodes = here.explored(f"episodes-{name}", agent=name, tasks=150)
        here.trained(f"rft-{name}", "rft", episodes)
        here.trained(f"eto-{name}", "eto", episodes, start=name, beta=0.5)
        trees = here.explored(f"trees-{name}", agent=name, how="tree", tasks=150)
        here.trained(f"q-{name}", "qnet", trees)
        if name == "sft":
            for targets in ("averaged", "raw"):
                here.trained(f"q-{targets}", "qnet", trees, targets=targets)
    guided = here.explored(
        "guided",
        agent="sft",
        how="guided",
        reward=f"qnet:{here.folder / 'q-sft'}",
        tasks=300,
        episodes=1,
    )
    here.trained("self-trained", "bc", guided, keep=0.5)
    for advantage in ("ppo", "grpo", "gigpo"):
        if advantage != "ppo" or not here.reads_text:  # which has no value model of states
            updates = max(1, round(here.scale * 30))
            here.trained(advantage, "ppo", here.env, start="sft", advantage=advantage, updates=updates)


GUIDED = {"n": 3, "temperature": 1.0, "strategy_args": {"q-guided.perturb": False}}
PERTURBED = {"n": 3, "temperature": 1.0, "strategy_args": {"q-guided.perturb": True}}
EPISODES = {"n": 3, "temperature": 1.0}
OTHER_EPISODES = {"n": 3, "temperature": 1.0, "strategy_args": {"bon-episode.perturb": True}}

EXPERIMENTS: Mapping[str, Experiment] = {
    "qlass/webshop": Experiment(
        env=WEBSHOP,
        source="QLASS (Q*Agent), arXiv 2502.02584 and its code",
        strategies=("single", "bon-episode", "q-guided"),
        stated={
            "strategy_args": {"q-guided.n": 2, "q-guided.perturb": True, "bon-episode.n": 10},
            "env_args": {"max_steps": 10},
        },
        ours={"temperature": 0.7, "agent_args": {"max_tokens": 1024}},
        agent="react",
        model="Llama 2 7B, trained",
        published="Mean reward x 100: SFT 63.1, best-of-n 65.3, Q*Agent 65.5 and with paraphrases 72.6",
        notes=(
            "Ten steps as in ETO's evaluation, five while exploring (--env-arg max_steps=5). Best-of-N has N = 10 in "
            "table 1 and 6 in table 2; BoN-aug is strategy argument bon-episode.perturb=true.",
            "Its value function is a trained network, and a candidate that ends the episode is given its true reward; "
            "here the verifier values both.",
        ),
        comparison=PaperComparison(
            title="Q*Agent on WebShop",
            source="arXiv 2502.02584 (QLASS), tables 1 to 3 and figure 3",
            differs=(
                "Policy and value model are models on features of the page. The paper's are Llama 2 7B and a head on "
                "it.",
                "No row reads the true reward of a test task. The paper picks the best of N by it.",
                "Perturbing the task changes nothing for a model that reads no text, so these rows need a language "
                "model.",
                "PPO plays while it learns. The paper's replays one file of episodes. GRPO and GiGPO are later than "
                "the paper.",
                "Few demonstrations are 3 and many are 100. The paper's are 1,000 and 1,938.",
            ),
            stages=stages,
            arms={
                "sft": MeasuredArm("sft"),
                "rft": MeasuredArm("rft-sft"),
                "eto": MeasuredArm("eto-sft"),
                "self-trained": MeasuredArm("self-trained"),
                "ppo": MeasuredArm("ppo", needs_features=True),
                "grpo": MeasuredArm("grpo"),
                "gigpo": MeasuredArm("gigpo"),
                "bon": MeasuredArm("sft", "bon-episode", EPISODES),
                "bon perturbed": MeasuredArm("sft", "bon-episode", OTHER_EPISODES, needs_text=True),
                "q-guided perturbed": MeasuredArm("sft", "q-guided", PERTURBED, verifier="q-sft", needs_text=True),
                "q-guided": MeasuredArm("sft", "q-guided", GUIDED, verifier="q-sft"),
                "q-guided averaged": MeasuredArm("sft", "q-guided", GUIDED, verifier="q-averaged"),
                "q-guided raw": MeasuredArm("sft", "q-guided", GUIDED, verifier="q-raw"),
                "sft few": MeasuredArm("sft-few"),
                "rft few": MeasuredArm("rft-sft-few"),
                "eto few": MeasuredArm("eto-sft-few"),
                "bon few": MeasuredArm("sft-few", "bon-episode", EPISODES),
                "q-guided few": MeasuredArm("sft-few", "q-guided", GUIDED, verifier="q-sft-few"),
            },
            claims=(
                Claim("Q1 rft not below sft", "rft", "sft", "63.6, 63.1", least=-0.01),
                Claim("Q1 self-trained > sft", "self-trained", "sft", "66.4 > 63.1"),
                Claim("Q1 eto > self-trained", "eto", "self-trained", "67.4 > 66.4"),
                Claim("Q1 ppo > sft", "ppo", "sft", "64.2 > 63.1"),
                Claim("grpo > sft", "grpo", "sft", "not in the paper"),
                Claim("gigpo > sft", "gigpo", "sft", "not in the paper"),
                Claim("Q2 bellman > averaged", "q-guided", "q-guided averaged", "figure 3b, no figures"),
                Claim("Q2 averaged > raw", "q-guided averaged", "q-guided raw", "figure 3b, no figures"),
                Claim("guided > sft", "q-guided", "sft", "65.5 > 63.1"),
                Claim("guided > bon", "q-guided", "bon", "65.5 > 65.3"),
                Claim("perturbed guided > guided", "q-guided perturbed", "q-guided", "72.6 > 65.5"),
                Claim("perturbed bon > bon", "bon perturbed", "bon", "68.4 > 65.3"),
                Claim("perturbed guided > bon", "q-guided perturbed", "bon perturbed", "72.6 > 68.4"),
                Claim("Q3 few: guided > sft", "q-guided few", "sft few", "68.2 > 21.7"),
                Claim("Q3 few: guided > bon", "q-guided few", "bon few", "68.2 > 24.5"),
                Claim("Q3 few: eto > sft", "eto few", "sft few", "66.7 > 21.7"),
                Claim("Q3 few: rft > sft", "rft few", "sft few", "61.4 > 21.7"),
            ),
        ),
    ),
}
