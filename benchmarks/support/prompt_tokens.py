"""Measures how long prompts are, on episodes of the shop's rule-based agent that were recorded once.

The former length was measured on the same episodes at commit d7c43cf, the last one with prompts that repeat the task
and list every action twice. A token is four characters, so that the figure depends on no tokenizer.
"""

import json
from collections.abc import Iterator
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
from support.figures import figure

import iad_envs  # noqa: F401 (registers)
from iad_policy.agents.language import Style, language_agent
from iad_policy.models.scripted import ScriptedModel
from iad_policy.prompts import prompts_of
from iad_policy.types import PublicInfo, State, Turn

FORMER_TOKENS = {"direct": 608.52, "cot": 656.27}
"""Tokens per step at commit d7c43cf, by style."""
TARGET = 0.7


class PromptLength(NamedTuple):
    """Mean length of prompts: tokens per step, share of them that the prompt before began with, number of steps.

    `ratio` is the length beside the former one, without the worked example, which the former prompts had not.
    """

    tokens: float
    ratio: float
    shared: float
    n: int


def webshop_prompt_length(style: Style) -> PromptLength:
    """Render the prompts of 60 recorded episodes: the agent `shopper` with the strategy `single`, seeds 0-59."""
    env = gym.make("IAD/WebShop-v0")
    agent = language_agent(env, ScriptedModel([]), style)
    texts = ["\n".join(str(one["content"]) for one in agent.messages(state)) for state in _states(env)]
    example = f"{prompts_of(env).part('example' if style == 'cot' else 'example_bare')}\n\n"
    env.close()
    zipped = (zip(*two, strict=False) for two in pairwise(texts))
    shared = sum(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], one)) for one in zipped)
    n, total = len(texts), sum(map(len, texts))
    return PromptLength(total / 4 / n, (total / n - len(example)) / 4 / FORMER_TOKENS[style], shared / total, n)


def report_webshop_prompts() -> None:
    """Print the length of the prompts beside the former one, and how much of them the prompt before began with."""
    styles: tuple[Style, ...] = ("direct", "cot")
    for style in styles:
        length = webshop_prompt_length(style)
        name, target = ("webshop_prompt_tokens", TARGET) if style == "direct" else ("webshop_prompt_tokens_cot", None)
        figure(name, length.tokens, "tokens", n=length.n, baseline=FORMER_TOKENS[style])
        figure(f"{name}_ratio", length.ratio, "x", n=length.n, target=target, baseline="recorded")
        figure(f"{name}_shared", length.shared, "share", n=length.n, better="higher")


def _states(env: gym.Env[Any, Any]) -> Iterator[State]:
    own: Any = env.unwrapped
    for task_id, actions in json.loads(Path(__file__).with_name("webshop_episodes.json").read_text(encoding="utf-8")):
        observation, info = env.reset(options={"task_id": task_id})
        history: tuple[Turn, ...] = ()
        for action in actions:
            public = PublicInfo(info, own.GOLD_INFO)
            yield State(observation, public, history=history, steps_left=own.max_steps - len(history))
            history = (*history, Turn(observation, action, public))
            observation, _, _, _, info = env.step(action)
