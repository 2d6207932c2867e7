"""Measures how long prompts are, on episodes of the shop's rule-based agent that were recorded once.

The former length was measured on the same episodes at commit d7c43cf, the last one with prompts that repeat the task
and list every action twice. A token is four characters, so that the figure depends on no tokenizer.
"""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
from support.figures import figure

import iad_envs  # noqa: F401 (registers)
from iad_policy.agents.language import Style, language_agent
from iad_policy.models.scripted import ScriptedModel
from iad_policy.prompts import prompts_of
from iad_policy.types import PublicInfo, State, Turn

EPISODES = Path(__file__).with_name("webshop_episodes.json")
"""Task and actions of 60 episodes: the agent `shopper` with the strategy `single`, seeds 0-59."""
FORMER_TOKENS = {"direct": 608.52, "cot": 656.27}
"""Tokens per step at commit d7c43cf, by style."""
CHARS_PER_TOKEN = 4
TARGET = 0.7

Tokens = Callable[[str], int | float]


class PromptLength(NamedTuple):
    """Mean length of the prompts of recorded episodes.

    Attributes:
        tokens: Tokens per step.
        example_tokens: Tokens of the worked example that is part of every prompt. The former prompts had none.
        shared: Share of the tokens that the prompt before began with.
        n: Number of steps.
    """

    tokens: float
    example_tokens: float
    shared: float
    n: int

    def ratio(self, style: Style) -> float:
        """Return the length beside the former one, without the worked example."""
        return (self.tokens - self.example_tokens) / FORMER_TOKENS[style]


def webshop_prompt_length(style: Style = "direct", tokens: Tokens | None = None) -> PromptLength:
    """Render the prompts of the recorded episodes.

    Args:
        style: The style of the agent.
        tokens: Counts the tokens of a text. The former length is known for four characters per token only.
    """
    counted = tokens or (lambda text: len(text) / CHARS_PER_TOKEN)
    env = gym.make("IAD/WebShop-v0")
    agent = language_agent(env, ScriptedModel([]), style)
    texts = ["\n".join(str(one["content"]) for one in agent.messages(state)) for state in _states(env)]
    example = prompts_of(env).part("example" if style == "cot" else "example_bare")
    env.close()
    total = sum(map(counted, texts))
    shared = sum(counted(_shared(*pair)) for pair in pairwise(texts))
    return PromptLength(total / len(texts), float(counted(f"{example}\n\n")), shared / total, len(texts))


def report_webshop_prompts() -> None:
    """Print the length of the prompts beside the former one, and how much of them the prompt before began with."""
    styles: tuple[Style, ...] = ("direct", "cot")
    for style in styles:
        length = webshop_prompt_length(style)
        name = "webshop_prompt_tokens" if style == "direct" else f"webshop_prompt_tokens_{style}"
        target = TARGET if style == "direct" else None
        figure(name, length.tokens, "tokens", n=length.n, baseline=FORMER_TOKENS[style])
        figure(f"{name}_ratio", length.ratio(style), "x", n=length.n, target=target, baseline="recorded")
        figure(f"{name}_shared", length.shared, "share", n=length.n, better="higher")


def _states(env: gym.Env[Any, Any]) -> Iterator[State]:
    gold = env.unwrapped.GOLD_INFO  # type: ignore[attr-defined]
    max_steps = env.unwrapped.max_steps  # type: ignore[attr-defined]
    for task_id, actions in json.loads(EPISODES.read_text(encoding="utf-8")):
        observation, info = env.reset(options={"task_id": task_id})
        history: tuple[Turn, ...] = ()
        for action in actions:
            public = PublicInfo(info, gold)
            yield State(observation, public, history=history, steps_left=max_steps - len(history))
            history = (*history, Turn(observation, action, public))
            observation, _, _, _, info = env.step(action)


def _shared(before: str, text: str) -> str:
    n_equal = next((place for place, (one, other) in enumerate(zip(before, text, strict=False)) if one != other), None)
    return text[:n_equal]
