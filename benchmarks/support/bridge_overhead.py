"""What a bridge adds to a step of the shop: `python benchmarks/support/bridge_overhead.py BRIDGE` prints microseconds.

Episodes of the same searches run in a plain loop and through the bridge, alternating; the figure is the median
difference per step. The model's answers are fixed, so that nothing but the bridge is measured. It is run by the
interpreter of the bridge's own environment, which `make bridges` makes.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from statistics import median
from tempfile import TemporaryDirectory

import gymnasium as gym

import iad_envs  # noqa: F401 (registers the environment)
from iad_policy.bridges.chat import Chat

SHOP = "IAD/WebShop-v0"
N_STEPS = 14
"""Steps of an episode, one less than end it."""
N_EPISODES = 12
N_SAMPLES = 6
ANSWERS = [f"search[{word}]" for word in ("shirt", "lamp", "desk", "shoes", "chair", "cup", "bag")] * 2
Episode = Callable[[], object]


def plain() -> Episode:
    env = gym.make(SHOP)
    return lambda: (env.reset(seed=0), [env.step(answer) for answer in ANSWERS])


def chat() -> Episode:
    talk = Chat(SHOP, style="direct")
    return lambda: (talk.begin(seed=0), [talk.say(answer) for answer in ANSWERS])


def trl() -> Episode:
    from iad_policy.bridges.trl import grpo_environment

    one = grpo_environment(SHOP, split="train")()
    return lambda: (one.reset(seed=0), [one.act(answer) for answer in ANSWERS])


def mcp() -> Episode:
    from mcp.client import Client

    from iad_policy.bridges.mcp import mcp_server

    async def episode() -> None:
        async with Client(mcp_server(SHOP)) as client:
            await client.call_tool("begin", {"seed": 0})
            for answer in ANSWERS:
                await client.call_tool("act", {"action": answer})

    return lambda: asyncio.run(episode())


def openenv() -> Episode:
    from openenv.core import GenericEnvClient

    from iad_policy.bridges.openenv import openenv_app
    from iad_policy.commands.asgi import AsgiServer

    client = GenericEnvClient(base_url=AsgiServer(openenv_app(SHOP)).address).sync()
    client.connect()
    return lambda: (client.reset(seed=0), [client.step({"text": answer}) for answer in ANSWERS])


def inspect() -> Episode:
    from inspect_ai import eval as evaluated
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from iad_policy.bridges.inspect import webshop

    folder = TemporaryDirectory()

    def play() -> None:
        outputs = [ModelOutput.from_content("mockllm/model", one) for one in [*ANSWERS, "search[end]"] * N_SAMPLES]
        for one in outputs:
            one.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
        how = {"max_samples": 1, "display": "none", "log_dir": folder.name}
        (log,) = evaluated(webshop(n=N_SAMPLES, style="direct"), model=model, **how)
        assert log.status == "success", log.error

    return play


BRIDGES = {"chat": chat, "trl": trl, "mcp": mcp, "openenv": openenv, "inspect": inspect}


def main() -> None:
    """Print the microseconds that a bridge adds to a step, as a JSON object."""
    name = sys.argv[1]
    # Where the framework's start is a part of it, one call plays several episodes.
    base, bridged, n_played = plain(), BRIDGES[name](), N_SAMPLES if name == "inspect" else 1
    for one in (base, bridged):
        one()
    added = []
    for _ in range(N_EPISODES):
        times = []
        for one in (base, bridged):
            start = time.perf_counter()
            one()
            times.append(time.perf_counter() - start)
        added.append((times[1] / n_played - times[0]) / N_STEPS * 1e6)
    print(json.dumps({"us": median(added), "n": N_EPISODES}), flush=True)


if __name__ == "__main__":
    main()
