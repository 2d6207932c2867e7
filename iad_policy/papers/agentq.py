"""Agent Q (arXiv 2408.07199): DPO on outcomes, and on search trees without and with a critic."""

from collections.abc import Mapping

from iad_policy.papers import (
    WEBSHOP,
    ArmPicture,
    Experiment,
    Laboratory,
    MeasuredArm,
    PaperComparison,
    PaperDifference,
    Settings,
    of_success,
)


def stages(here: Laboratory, start: str = "base") -> None:
    """Imitate ten demonstrations, then train on episodes and on search trees of a policy."""
    here.trained("base", "bc", here.explored("demos", tasks=120, episodes=1, temperature=0.0), demos=10)
    episodes = here.explored("episodes", agent="base", tasks=300)
    here.trained("rft", "rft", episodes)
    if start != "base":
        episodes = here.explored(f"episodes-{start}", agent=start, tasks=300)
    here.trained("outcome-dpo", "eto", episodes, start=start, beta=0.5, reference="behaviour", max_kl=None)
    how: Settings = {"how": "mcts", "tasks": 40, "reward": "binary:oracle", "critic": "proxy"}
    published = here.explored("search", agent=start, strategy_args={"mcts.first_visits": "published"}, **how)
    ranked = here.explored("search-ranked", agent=start, **how)
    for name, trees, alpha, labels in (
        ("step-dpo", published, 1.0, "hard"), ("agent-q", published, 0.5, "hard"),
        ("step-dpo ranked", ranked, 1.0, "hard"), ("agent-q soft", published, 0.5, "soft"),
    ):  # fmt: skip
        here.trained(name, "dpo", trees, start=start, alpha=alpha, labels=labels, max_kl=None, reference="behaviour")


def stages_from_rft(here: Laboratory) -> None:
    """The same, from the policy that was fitted to its own successes, as on OpenTable."""
    stages(here, "rft")


SHOWN: Mapping[str, str] = {
    "1 eq. 7 for all actions, with Q = 0 before a visit": "tests/iad_policy/strategies/building_blocks/test_tree.py"
    "::test_as_published_an_unvisited_action_has_a_score_too",
    "2 rewards are 0 or 1": "tests/iad_policy/verifiers/test_changed.py"
    "::test_a_binary_verifier_says_1_for_success_alone",
    "3 on OpenTable, RFT is start and reference": "tests/iad_policy/learn/test_reproduce.py"
    "::test_on_open_table_the_policies_start_from_rft",
    "4 likelihoods of the policy that proposed": "tests/iad_policy/learn/test_train.py"
    "::test_the_reference_may_be_the_likelihoods_that_actions_were_proposed_with",
    "4a a buffer of all rounds": "tests/iad_policy/learn/test_improve.py"
    "::test_a_buffer_of_all_rounds_keeps_the_likelihoods_of_each_rounds_policy",
    "5 beam search over the DPO policy, and success decides": "tests/iad_policy/learn/test_reproduce.py"
    "::test_agent_q_is_judged_by_success_and_has_beam_search",
    "9 hard labels, and no stop at a KL": "tests/iad_policy/learn/test_reproduce.py"
    "::test_labels_are_hard_and_no_kl_stops_training",
}
DIFFERS: Mapping[str, PaperDifference] = {
    "2a the outcome of a search": PaperDifference(
        "The outcome there is 1 or 0, by the environment or a model. In a run with these settings it is the verifier's "
        "score of the last step; --verifier binary:<verifier> makes it 1 or 0.",
        "settings",
    ),
    "3a the shop": PaperDifference(
        "All policies start from base. On OpenTable the paper starts from RFT; for the shop it doesn't say.",
        "comparison",
        (WEBSHOP,),
    ),
    "4b rounds": PaperDifference(
        "One round of data. With several, the paper's buffer of all rounds is `iad improve --buffer all`.", "comparison"
    ),
    "5a the reward of the beam": PaperDifference(
        "Beam search keeps the states that the proxy verifier scores best. The paper doesn't say what scores them.",
        "comparison",
    ),
    "6 lines of reference": PaperDifference(
        "The 12,087 instructions are split there into 11,000 for training and 1,087. `iad_envs` splits the official "
        "data as the shop's code does. GPT-4o's and people's success is printed as published, and not measured.",
        "settings",
    ),
    "7 the policy": PaperDifference(
        "The policy is a model on features of the page, and begins with ten demonstrations. The paper's is xLAM or "
        "Llama 3 with a prompt.",
        "comparison",
    ),
    "8 the critic": PaperDifference(
        "The critic that ranks proposals is the proxy verifier. The paper's is the language model itself.", "comparison"
    ),
    "10 the search at the end": PaperDifference(
        "Searching at the end uses the proxy verifier as the reward, not the true one.", "comparison"
    ),
    "11 the site": PaperDifference(
        "The site, its restaurants and its tasks are our own, and success is checked in the site's data.",
        envs=("IAD/Booking-v0", "IAD/BookingBrowser-v0"),
    ),
}

TRAINED = {name: MeasuredArm(name) for name in ("base", "rft", "outcome-dpo", "step-dpo", "agent-q")}
SEARCH = {"n": 4, "strategy_args": {"mcts.k": 2, "mcts.first_visits": "published"}}
OURS = {name: MeasuredArm(name) for name in ("step-dpo ranked", "agent-q soft")}
"""Our defaults: each action is visited once, in the ranking's order, before equation 7 decides; and soft labels."""
SEARCHING = {
    **{f"{name} + mcts": MeasuredArm(name, "mcts", SEARCH) for name in TRAINED},
    "outcome-dpo + beam": MeasuredArm("outcome-dpo", "beam", {"n": 3, "strategy_args": {"beam.k": 2, "beam.width": 2}}),
}
SETTINGS = {"n": 10, "strategy_args": {"mcts.k": 3, "mcts.c_exp": 1.0}, "agent_args": {"max_tokens": 1024}}
STATED = {"strategy_args": {"mcts.first_visits": "published"}}


EXPERIMENTS: Mapping[str, Experiment] = {
    "agent-q/webshop": Experiment(
        env=WEBSHOP,
        source="Agent Q, arXiv 2408.07199: a base model with MCTS",
        strategies=("single", "mcts"),
        stated=STATED,
        ours=SETTINGS,
        agent="composite",
        model="xLAM-v0.1-r",
        published="Success in per cent: 28.6, with MCTS 48.4, Agent Q with MCTS 50.5, people 50.0",
        notes=(
            "The paper gives neither K (its figure 4 draws three proposals), iterations nor the weight of exploring.",
        ),
        comparison=PaperComparison(
            title="Agent Q",
            source="arXiv 2408.07199, figures 3 and 4 and the text of section 5",
            stages=stages,
            arms={**TRAINED, **OURS, **{name: arm for name, arm in SEARCHING.items() if arm.agent != "rft"}},
            claims=(
                of_success("rft > base", "rft", "base", "31.3 > 28.6"),
                of_success("outcome-dpo > rft", "outcome-dpo", "rft", "37.5 (text: 40.6) > 31.3"),
                of_success("step-dpo > outcome-dpo", "step-dpo", "outcome-dpo", "OpenTable: 75.2 > 71.8"),
                of_success("agent-q > step-dpo", "agent-q", "step-dpo", "OpenTable: 81.7 > 75.2"),
                of_success("agent-q > outcome-dpo", "agent-q", "outcome-dpo", "+0.9"),
                of_success("base + mcts > agent-q", "base + mcts", "agent-q", "48.4 > 41.5"),
                of_success(
                    "outcome-dpo + beam > outcome-dpo", "outcome-dpo + beam", "outcome-dpo", "figure 3, no figure"
                ),
                of_success("ranked first visits > published", "step-dpo ranked", "step-dpo", "not in the paper"),
                of_success("soft labels > hard", "agent-q soft", "agent-q", "not in the paper"),
                of_success("agent-q + mcts > agent-q", "agent-q + mcts", "agent-q", "50.5 > 41.5"),
                of_success("agent-q + mcts > base + mcts", "agent-q + mcts", "base + mcts", "50.5 > 48.4"),
            ),
            pictures=(
                ArmPicture(
                    "figure 3, success in the shop",
                    {
                        "base": 28.6,
                        "rft": 31.3,
                        "outcome-dpo": 37.5,
                        "outcome-dpo + beam": None,
                        "step-dpo": None,
                        "agent-q": 41.5,
                        "base + mcts": 48.4,
                        "agent-q + mcts": 50.5,
                    },
                    "success in per cent, xLAM\n(outcome-dpo: 40.6 in the text)",
                ),
            ),
        ),
    ),
    "agent-q/opentable": Experiment(
        env="IAD/Booking-v0",
        source="Agent Q, arXiv 2408.07199: restaurant booking with MCTS",
        strategies=("single", "mcts"),
        stated=STATED,
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
            stages=stages_from_rft,
            arms={**TRAINED, **OURS, **SEARCHING},
            claims=(
                of_success("rft > base", "rft", "base", "67.2 > 18.6"),
                of_success("outcome-dpo > rft", "outcome-dpo", "rft", "71.8 > 67.2"),
                of_success("step-dpo > outcome-dpo", "step-dpo", "outcome-dpo", "75.2 > 71.8"),
                of_success("agent-q > step-dpo", "agent-q", "step-dpo", "81.7 > 75.2"),
                of_success("agent-q > outcome-dpo", "agent-q", "outcome-dpo", "81.7 > 71.8"),
                of_success("rft + mcts > agent-q", "rft + mcts", "agent-q", "84.3 > 81.7"),
                of_success("ranked first visits > published", "step-dpo ranked", "step-dpo", "not in the paper"),
                of_success("soft labels > hard", "agent-q soft", "agent-q", "not in the paper"),
                of_success("agent-q + mcts > agent-q", "agent-q + mcts", "agent-q", "95.4 > 81.7"),
                of_success("agent-q + mcts > rft + mcts", "agent-q + mcts", "rft + mcts", "95.4 > 84.3"),
            ),
            pictures=(
                ArmPicture(
                    "figure 6, success in booking",
                    {
                        "base": 18.6,
                        "rft": 67.2,
                        "outcome-dpo": 71.8,
                        "step-dpo": 75.2,
                        "agent-q": 81.7,
                        "rft + mcts": 84.3,
                        "agent-q + mcts": 95.4,
                    },
                    "success in per cent, Llama 3 70B on OpenTable",
                ),
            ),
            envs=("IAD/Booking-v0", "IAD/BookingBrowser-v0"),
        ),
    ),
}
