"""Looks for gold in what a model was told: for the tests of all bridges."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym

from iad_policy.bridges.chat import Chat
from iad_policy.registry.domain import domain_of

SHORTEST = 5
"""Characters. A shorter text is said by chance."""
FIGURES = ("{:.2f}", "{:.3f}", "{:.4f}", "{:.10g}", "{!r}")


class Told(NamedTuple):
    """What a model was told in an episode, the first messages included, and what it said."""

    texts: Sequence[str]
    answers: Sequence[str]


def aimless(env: gym.Env[Any, Any]) -> list[str]:
    """Answers that know nothing of the task: actions with all sorts of outcomes, and what is no action."""
    return ["I have no idea.", *(f"Action: {action}" for action in domain_of(env).stand_ins), "Action:", "nothing"]


def solving(env: gym.Env[Any, Any], task_id: str, seed: int = 0) -> list[str]:
    """The answers with the actions that solve a task."""
    world: Any = env.unwrapped
    env.reset(seed=seed, options={"task_id": task_id})
    return [f"Action: {action}" for action in world.oracle(world.snapshot())["solution"]]


def texts_of(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """The texts of messages that the model did not write itself, without pictures."""
    parts = [
        part["text"] if isinstance(part, Mapping) else part
        for message in messages
        if message["role"] != "assistant"
        for part in ([message["content"]] if isinstance(message["content"], str) else message["content"])
        if isinstance(part, str) or part["type"] == "text"
    ]
    return [str(part) for part in parts]


def gold_in(told: Told, env: gym.Env[Any, Any], task_id: str, seed: int = 0) -> list[str]:
    """The gold that a model was told, although neither the world nor itself had said it.

    The episode is played again. Gold is what the oracle's reference has, every score on the way, and what the last
    page shows and no earlier one.
    """
    world: Any = env.unwrapped
    other = next(one for one in world.task_ids if one != task_id)
    chat = Chat(env)
    # What is said of another task is no gold of this one: examples in the prompts.
    said = [*told.answers, *texts_of(chat.begin(task_id=other, seed=seed))]
    begun = texts_of(chat.begin(task_id=task_id, seed=seed))
    said.append(str(chat.state.info["instruction"]))
    oracle = world.oracle(world.snapshot())
    secrets = {*leaves(oracle["reference"]), *leaves(oracle["solution"])}
    scores: set[float] = set()
    for answer in told.answers:
        said.extend([str(chat.state.observation), str(dict(chat.state.info))])
        chat.say(answer)
        oracle = world.oracle(world.snapshot())
        scores |= {oracle["reward"], oracle["progress"], *oracle["reward_parts"].values(), chat.reward}
        if chat.done:
            break
    if chat.done:
        secrets |= set(leaves(str(chat.state.observation).replace("[SEP]", "\n")))
    figures = {text for score in scores for text in _written(score)}
    return _found(secrets, told.texts, said) + _found(figures, told.texts, [*said, *begun])


def _found(secrets: Iterable[str], texts: Sequence[str], said: Sequence[str]) -> list[str]:
    """The secrets that are in texts and were not said before."""
    told, known = "\n".join(texts), "\n".join(said)
    return sorted(one for one in secrets if one in told and one not in known)


def leaves(value: Any) -> Iterator[str]:
    """The texts in a value of any depth, line by line, that are long enough to be told apart."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, str):
        yield from (line.strip() for line in value.splitlines() if len(line.strip()) >= SHORTEST)
    elif isinstance(value, Iterable):
        for one in value:
            yield from leaves(one)


def _written(score: float) -> set[str]:
    """The ways in which a score may be written, also in percent; none for a whole number, which is said by chance."""
    if float(score).is_integer():
        return set()
    texts = {form.format(value) for form in FIGURES for value in (float(score), 100 * float(score))}
    return {text for text in texts if len(text.partition(".")[2]) >= 2}
