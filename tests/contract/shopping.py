"""What buys a goal's product with its options: the gold solution of a shopping task, found by simulating."""

from typing import Any

from iad_envs.core import IADEnv


def gold_purchase(env: IADEnv[Any, Any]) -> list[str]:
    """The actions from the search page: the title searched for, pages turned, options clicked, bought."""
    reference = env.oracle(env.snapshot())["reference"]
    wanted = f"click[{reference['asin'].lower()}]"
    words = reference["title"].translate({ord("["): " ", ord("]"): " "})  # brackets would end the action early
    actions = [f"search[{words}]"]
    outcome = env.simulate(env.snapshot(), actions[0])
    while wanted not in outcome.info["available_actions"]:
        assert outcome.info["page"]["products"], f"{reference['asin']} is not among the results for its own title"
        actions.append("click[next >]")
        outcome = env.simulate(outcome.token, actions[-1])
    return [*actions, wanted, *(f"click[{value}]" for value in reference["options"]), "click[buy now]"]
