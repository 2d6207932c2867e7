"""Q*Agent (arXiv 2502.02584, published as QLASS): values from trees of rollouts guide generation, and make data."""

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
    Settings,
)


def stages(here: Laboratory) -> None:
    """Imitate few and many demonstrations, then learn values from trees of each policy, and from what they guide."""
    network = VALUE_NETWORK if here.reads_text else {}
    found = here.explored("demos", tasks=300, episodes=1, temperature=0.0)
    experts = {name: here.demonstrations(found, n) for name, n in (("sft", 100), ("sft-few", 3))}
    for name, demos in experts.items():
        here.trained(name, "bc", demos)
        episodes = here.explored(f"episodes-{name}", agent=name, tasks=150, **EXPLORING)
        here.trained(f"rft-{name}", "rft", [episodes, demos])
        here.trained(f"eto-{name}", "eto", episodes, start=name, beta=0.5)
        trees = here.explored(f"trees-{name}", agent=name, how="tree", tasks=150, **EXPLORING)
        for targets in ("bellman", "averaged", "raw") if name == "sft" else ("bellman",):
            value = f"q-{name}" if targets == "bellman" else f"q-{targets}"
            here.trained(value, "qnet", [trees, demos], targets=targets, scale="tree", experts=True, **network)
        if name == "sft":
            here.trained("q-unscaled", "qnet", [trees, demos], experts=True, **network)
    for targets in ("sft", "averaged", "raw"):  # whose values guide
        how: Settings = {"how": "guided", "reward": f"qnet:{here.folder / f'q-{targets}'}", "tasks": 300, "episodes": 1}
        guided = here.explored(f"guided-{targets}", agent="sft", **how, **EXPLORING)
        name = "self-trained" if targets == "sft" else f"self-trained {targets}"
        here.trained(name, "bc", [guided, experts["sft"]], keep=0.5)
    for advantage in ("ppo", "grpo", "gigpo"):
        if advantage != "ppo" or not here.reads_text:  # which has no value model of states
            updates = max(1, round(here.scale * 30))
            here.trained(advantage, "ppo", here.env, start="sft", advantage=advantage, updates=updates)


EXPLORING: Settings = {"temperature": 0.7, "env_args": {"max_steps": 5}}
"""Table 3 of the paper."""
VALUE_NETWORK: Settings = {"network": "published", "loss_at": "every-token", "rate": 1e-5, "batch": 64, "epochs": 2}
"""The value network, where its loss is (eqs 5 and 8) and how long it is trained: options of `iad train qnet` with a
language model."""
SHOWN: Mapping[str, str] = {
    "1a the value network of a language model": "tests/full/test_hf.py"
    "::test_the_published_value_network_is_trained_whole",
    "1b its rate, batches and epochs": "tests/iad_policy/learn/test_reproduce.py"
    "::test_q_star_trains_a_language_models_value_network_as_published",
    "2 min-max scaling of each tree": "tests/iad_policy/learn/test_qnet.py"
    "::test_an_experts_episode_is_a_branch_of_the_tree",
    "3 the expert's branch": "tests/iad_policy/learn/test_qnet.py::test_an_experts_episode_is_a_branch_of_the_tree",
    "4 five steps and temperature 0.7": "tests/iad_policy/learn/test_reproduce.py"
    "::test_q_star_explores_as_published_and_merges_the_experts_data",
    "6 own episodes merged with the experts'": "tests/iad_policy/learn/test_reproduce.py"
    "::test_q_star_explores_as_published_and_merges_the_experts_data",
    "7 figure 3b: three rewards guide self-training": "tests/iad_policy/learn/test_reproduce.py"
    "::test_q_star_explores_as_published_and_merges_the_experts_data",
}
DIFFERS: Mapping[str, PaperDifference] = {
    "1 the value network": PaperDifference(
        "The paper's value network is a whole language model with three linear layers, trained at every token. Here it "
        "is that with --backend hf, at the action's tokens but not, as in the paper's code, at those before it. "
        "Otherwise it is linear on features of the page.",
        "comparison",
    ),
    "5 the budget of best-of-n": PaperDifference(
        "Table 1 compares N = 10 whole episodes with one guided episode. `--match proposals` compares at what both "
        "spent.",
        "settings",
    ),
    "5a the best of N": PaperDifference(
        "No row reads the true reward of a test task. The paper picks the best of N by it.", "comparison"
    ),
    "7a figure 3a": PaperDifference(
        "Figure 3a has the reward by the tokens that are spent. Here it is drawn by proposals, as the policy writes no "
        "tokens, and at one budget of each method.",
        "comparison",
    ),
    "8 the policy": PaperDifference(
        "Policy and value model are models on features of the page. The paper's are Llama 2 7B and a head on it.",
        "comparison",
    ),
    "8a paraphrases": PaperDifference(
        "The prompt that asks for a paraphrase is in our words. For a model that reads no text a paraphrase changes "
        "nothing, so these rows need a language model."
    ),
    "8b reflexion, LATS, ETO's data": PaperDifference(
        "Reflexion and LATS are no arms, as the policy reads no text (`--strategies reflexion,lats` runs them with a "
        "language model). ETO's published data are not fetched; eto learns from episodes made here.",
        "comparison",
    ),
    "8c PPO": PaperDifference(
        "PPO plays while it learns. The paper's replays one file of episodes. GRPO and GiGPO are later than the paper.",
        "comparison",
    ),
    "8d demonstrations": PaperDifference(
        "Few demonstrations are 3 and many are 100. The paper's are 1,000 and 1,938.", "comparison"
    ),
    "8e what values both": PaperDifference(
        "The paper's value function is a trained network, and a candidate that ends the episode is given its true "
        "reward. In a run with these settings the verifier values both.",
        "settings",
    ),
}
GUIDED = {"n": 3, "temperature": 1.0, "strategy_args": {"q-guided.perturb": False}}
PERTURBED = {"n": 3, "temperature": 1.0, "strategy_args": {"q-guided.perturb": True}}
EPISODES = {"n": 3, "temperature": 1.0}
OTHER_EPISODES = {"n": 3, "temperature": 1.0, "strategy_args": {"bon-episode.perturb": True}}

REWARD = "mean reward x 100, Llama 2 7B"

EXPERIMENTS: Mapping[str, Experiment] = {
    "qlass/webshop": Experiment(
        env=WEBSHOP,
        source="QLASS (Q*Agent), arXiv 2502.02584 and its code",
        strategies=("single", "bon-episode", "q-guided"),
        stated={
            "strategy_args": {"q-guided.n": 2, "q-guided.perturb": True, "bon-episode.n": 10},
            "env_args": {"max_steps": 5},
            "temperature": 0.7,
        },
        sections={"max_steps": "table 3", "temperature": "table 3, exploring"},
        ours={"agent_args": {"max_tokens": 1024}},
        agent="react",
        model="Llama 2 7B, trained",
        published="Mean reward x 100: SFT 63.1, best-of-n 65.3, Q*Agent 65.5 and with paraphrases 72.6",
        notes=(
            "At most five steps in guided generation; ETO's evaluation has ten (--env-arg max_steps=10). Best-of-N has "
            "N = 10 in table 1 and 6 in table 2; BoN-aug is strategy argument bon-episode.perturb=true.",
        ),
        comparison=PaperComparison(
            title="Q*Agent",
            source="arXiv 2502.02584 (QLASS), tables 1 to 3 and figure 3",
            stages=stages,
            arms={
                "sft": MeasuredArm("sft"),
                "rft": MeasuredArm("rft-sft"),
                "eto": MeasuredArm("eto-sft"),
                "self-trained": MeasuredArm("self-trained"),
                "self-trained averaged": MeasuredArm("self-trained averaged"),
                "self-trained raw": MeasuredArm("self-trained raw"),
                "ppo": MeasuredArm("ppo", needs_features=True),
                "grpo": MeasuredArm("grpo"),
                "gigpo": MeasuredArm("gigpo"),
                "bon": MeasuredArm("sft", "bon-episode", EPISODES),
                "bon perturbed": MeasuredArm("sft", "bon-episode", OTHER_EPISODES, needs_text=True),
                "q-guided perturbed": MeasuredArm("sft", "q-guided", PERTURBED, verifier="q-sft", needs_text=True),
                "q-guided": MeasuredArm("sft", "q-guided", GUIDED, verifier="q-sft"),
                "q-guided unscaled": MeasuredArm("sft", "q-guided", GUIDED, verifier="q-unscaled"),
                "q-guided averaged": MeasuredArm("sft", "q-guided", GUIDED, verifier="q-averaged"),
                "q-guided raw": MeasuredArm("sft", "q-guided", GUIDED, verifier="q-raw"),
                "sft few": MeasuredArm("sft-few"),
                "rft few": MeasuredArm("rft-sft-few"),
                "eto few": MeasuredArm("eto-sft-few"),
                "bon few": MeasuredArm("sft-few", "bon-episode", EPISODES),
                "q-guided few": MeasuredArm("sft-few", "q-guided", GUIDED, verifier="q-sft-few"),
            },
            claims=(
                Claim("rft not below sft", "rft", "sft", "63.6, 63.1", least=-0.01),
                Claim("self-trained > sft", "self-trained", "sft", "66.4 > 63.1"),
                Claim("eto > self-trained", "eto", "self-trained", "67.4 > 66.4"),
                Claim("ppo > sft", "ppo", "sft", "64.2 > 63.1"),
                Claim("grpo > sft", "grpo", "sft", "not in the paper"),
                Claim("gigpo > sft", "gigpo", "sft", "not in the paper"),
                Claim("bellman > averaged", "self-trained", "self-trained averaged", "figure 3b, no figures"),
                Claim("averaged > raw", "self-trained averaged", "self-trained raw", "figure 3b, no figures"),
                Claim("guided: bellman > averaged", "q-guided", "q-guided averaged", "not in the paper"),
                Claim("unscaled > scaled", "q-guided unscaled", "q-guided", "not in the paper"),
                Claim("guided > sft", "q-guided", "sft", "65.5 > 63.1"),
                Claim("guided > bon", "q-guided", "bon", "65.5 > 65.3"),
                Claim("perturbed guided > guided", "q-guided perturbed", "q-guided", "72.6 > 65.5"),
                Claim("perturbed bon > bon", "bon perturbed", "bon", "68.4 > 65.3"),
                Claim("perturbed guided > bon", "q-guided perturbed", "bon perturbed", "72.6 > 68.4"),
                Claim("few: guided > sft", "q-guided few", "sft few", "68.2 > 21.7"),
                Claim("few: guided > bon", "q-guided few", "bon few", "68.2 > 24.5"),
                Claim("few: eto > sft", "eto few", "sft few", "66.7 > 21.7"),
                Claim("few: rft > sft", "rft few", "sft few", "61.4 > 21.7"),
            ),
            pictures=(
                ArmPicture(
                    "table 1, reward in the shop",
                    {
                        "sft": 63.1,
                        "rft": 63.6,
                        "ppo": 64.2,
                        "eto": 67.4,
                        "self-trained": 66.4,
                        "bon": 65.3,
                        "bon perturbed": 68.4,
                        "q-guided": 65.5,
                        "q-guided perturbed": 72.6,
                    },
                    REWARD,
                    "reward",
                ),
                ArmPicture(
                    "reward with few demonstrations",
                    {
                        "sft few": 21.7,
                        "rft few": 61.4,
                        "eto few": 66.7,
                        "bon few": 24.5,
                        "q-guided few": 68.2,
                    },
                    REWARD,
                    "reward",
                ),
                ArmPicture(
                    "figure 3a, reward by what an episode spends",
                    {"sft": None, "bon": None, "bon perturbed": None, "q-guided": None, "q-guided perturbed": None},
                    "70.3 for 240,000 tokens, q-guided perturbed,\nand 68.4 for 400,000 tokens, bon perturbed",
                    "reward",
                    "proposals",
                ),
                ArmPicture(
                    "figure 3b, reward by what guides self-training",
                    {"self-trained": None, "self-trained averaged": None, "self-trained raw": None},
                    "a figure without numbers:\nvalues above averages, averages above raw rewards",
                    "reward",
                ),
            ),
        ),
    ),
}
