"""`iad play`: lets a person act in an environment in the terminal."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import gymnasium as gym
import typer
from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from iad_policy.commands.options import DataDir, EnvArgs, EnvId, Seed, Split, pairs
from iad_policy.commands.terminal import BAD_INPUT, clear_errors, make_console
from iad_policy.registry.domain import env_id
from iad_policy.run.resolve import make_env, parameters_of
from iad_policy.types.names import PATTERN
from iad_policy.types.texts import isolated


def play(
    env: EnvId,
    task: Annotated[str | None, typer.Option(help="Task id; by default the seed chooses one.")] = None,
    split: Split = None,
    seed: Seed = 0,
    env_arg: EnvArgs = None,
    data_dir: DataDir = None,
) -> None:
    """Act in an environment yourself, in the terminal."""
    console = make_console()
    with clear_errors(BAD_INPUT):
        env_args = pairs(env_arg, "--env-arg")
        if "observation_mode" in parameters_of(env):
            env_args = {"observation_mode": "text_rich"} | env_args
        made = make_env(env, env_args, split=split, data_dir=data_dir)
        play_episode(made, console, lambda prompt: console.input(prompt), task=task, seed=seed)


def play_episode(
    env: gym.Env[Any, Any], console: Console, read: Callable[[str], str], *, task: str | None = None, seed: int = 0
) -> None:
    """Let a person act until the episode is over or they quit.

    Args:
        env: The environment.
        console: Console that shows the pages.
        read: Function that asks for a line of text. It raises EOFError at the end of the input.
        task: Task id, or None to let the seed choose.
        seed: Seed of the environment.

    Raises:
        ValueError: The environment doesn't choose a task by its id.
    """
    observation, info = env.reset(seed=seed, options={"task_id": task} if task is not None else None)
    if task is not None and str(info.get("task_id", "")) != task:
        raise ValueError(
            f"expected an environment that begins the task of options['task_id'], got {env_id(env)}, which began "
            f"another than {task!r:.100}; leave --task out"
        )
    heading = f"Task {isolated(str(info.get('task_id', seed)))}: {_lines(info.get('instruction', ''))}"
    console.print(heading, style="bold")
    console.print("Type a number, a button's name or a whole action. Type q to quit.", style="dim")
    total, done, refusal = 0.0, False, ""
    while not done:
        actions = [str(action) for action in info.get("available_actions", ())]
        title = Text(f"step {info.get('step', '')}")
        page = Panel(Text(_lines(observation)), title=title, title_align="left")
        console.print(Text(f"Nothing was done: {_lines(refusal)}") if refusal else page)
        shown = [Text.assemble((f"{place:>3} ", "cyan"), isolated(action)) for place, action in enumerate(actions, 1)]
        console.print(Columns(shown, padding=(0, 3), equal=False, expand=False))
        action: Any = _action(read, actions)
        if action is None:
            console.print("You quit before the end, so there is no score.")
            return
        if isinstance(env.action_space, gym.spaces.Discrete) and action.lstrip("-").isdecimal():
            action = env.action_space.dtype.type(int(action))
        if refusal := _refusal(env, observation, action):
            continue
        observation, reward, terminated, truncated, info = env.step(action)
        total += float(reward)
        done = terminated or truncated
    console.print(Text(_lines(observation)))
    success_rule = str(getattr(env.unwrapped, "success_rule", ""))
    table = Table(title="Result", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("reward", f"{total:.3f}", style="bold")
    for name in ("success", "progress", "stop_reason"):
        if name in info:
            value = info[name]
            rule = f" ({success_rule})" if name == "success" and success_rule else ""
            table.add_row(f"{name}{rule}", f"{value:.3f}" if isinstance(value, float) else str(value))
    for name, value in info.get("reward_parts", {}).items():
        table.add_row(f"  {name}", f"{value:.3f}")
    console.print(table)
    if why := getattr(env.unwrapped, "why_failed", str)():
        console.print(Text(f"Why it failed (this may quote gold): {why}"))


def _refusal(env: gym.Env[Any, Any], observation: Any, action: Any) -> str:
    """Say why an environment would not understand an action, or "": a person's typo is to cost no step."""
    if not env.action_space.contains(action):
        return f"expected an action of {env.action_space}, got {str(action)!r:.100}"
    inner: Any = env.unwrapped
    if not hasattr(inner, "simulate"):
        return ""
    outcome = inner.simulate(inner.snapshot(), action)
    if not outcome.info.get("invalid_action"):
        return ""
    complaint = str(outcome.info.get("facts", {}).get("complaint") or f"{str(action)!r:.100} is no valid action")
    before, after = (str(seen).split("\n") for seen in (observation, outcome.observation))
    news = "\n".join(line for line in after if line not in before)  # with a shell's own message
    return news if isinstance(outcome.observation, str) and complaint in news else complaint


def _lines(seen: Any) -> str:
    """Return a text for the terminal, line by line."""
    return "\n".join(map(isolated, str(seen).split("\n")))


def _action(read: Callable[[str], str], actions: Sequence[str]) -> str | None:
    """Ask until there is an action. Return None if the person quits."""
    while True:
        try:
            line = read("> ").strip()
            if line.lower() in ("q", "quit", "exit"):
                return None
            if not line:
                continue
            chosen = _chosen(line, actions)
            if chosen.endswith(PATTERN):
                argument = read(f"{chosen.removesuffix(PATTERN)}: ").strip()
                chosen = f"{chosen.removesuffix(PATTERN)}[{argument}]"
            return chosen
        except EOFError:
            return None


def _chosen(line: str, actions: Sequence[str]) -> str:
    """Return the action for a number or a button's name. Other text is returned unchanged."""
    if line.isdecimal() and 1 <= int(line) <= len(actions):
        return actions[int(line) - 1]
    named = {action.partition("[")[2].removesuffix("]").lower(): action for action in actions}
    patterns = {action.partition("[")[0].lower(): action for action in actions if action.endswith(PATTERN)}
    if line.lower() in named:
        return named[line.lower()]
    if line.lower() in patterns:
        return patterns[line.lower()]
    name, _, argument = line.partition(" ")
    return f"{name.lower()}[{argument}]" if name.lower() in patterns and argument else line
