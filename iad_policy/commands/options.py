"""The options of a run on the command line, derived from the fields of `RunConfig`."""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from iad_policy.run.config import OPTIONS, RunConfig, RunOption, one_or_all
from iad_policy.types.secrets import learn

EnvId = Annotated[str, typer.Argument(metavar="ENV", help="Environment id, such as IAD/WebShop-v0.")]
EnvArgs = Annotated[
    list[str] | None, typer.Option("--env-arg", metavar="KEY=VALUE", help="Further argument of the environment.")
]
DataDir = Annotated[str | None, typer.Option(help="Folder with the environment's data, or official:NAME.")]
Split = Annotated[str | None, typer.Option(help="Split of the tasks; by default the environment's own.")]
Seed = Annotated[int, typer.Option(help="Seed of the task and of the environment.")]
EnvIds = Annotated[
    list[str] | None, typer.Argument(metavar="[ENV...]", help="Environment ids, such as IAD/WebShop-v0.")
]
ConfigFile = Annotated[Path | None, typer.Option(help="TOML file with runs; command-line options override it.")]
Out = Annotated[Path | None, typer.Option(help="Run folder; by default one in runs/ named after the command.")]
Track = Annotated[str, typer.Option(metavar="NAME[,NAME...]", help="Experiment trackers: mlflow, tensorboard, wandb.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Delete the run that the folder holds and start again.")]

Full = Annotated[bool, typer.Option("--full", help="Print the whole table, with intervals and all spending.")]


def with_run_options(*, one_strategy: str = "") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command every option of a run, as keyword arguments by the field's name.

    Args:
        one_strategy: Default of `--strategy`, for a command that runs one. Without it the command has `--strategies`.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters = [_parameter("ctx", typer.Context), _parameter("env", EnvIds, None)]
        parameters.append(_parameter("config", ConfigFile, None))
        for part in fields(RunConfig):
            if part.name in OPTIONS and part.name != "env":
                default = None if part.default is MISSING else part.default
                parameters.append(_of_option(part.name, OPTIONS[part.name], default, one_strategy))
        parameters += [_parameter("out", Out, None), _parameter("track", Track, ""), _parameter("fresh", Fresh, False)]
        parameters.append(_parameter("full", Full, False))
        if one_strategy:
            parameters = [one for one in parameters if one.name != "baseline"]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        return command

    return decorate


def config_parts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given on the command line as parts of a `RunConfig`.

    Raises:
        ValueError: A number can't be parsed, or a pair has no equals sign.
    """
    parts: dict[str, Any] = {}
    for name, value in given.items():
        option = OPTIONS.get(name)
        if option is None or value is None:
            continue
        if name == "env":
            parts[name] = value
        elif option.kind is dict:
            parts[name] = pairs(value, f"--{option.flag or name}")
        elif option.takes_several:
            values = several(value, option.kind, f"--{name}")
            parts[name] = values if name == "strategies" else one_or_all(values)
        else:
            parts[name] = value
    return parts


def pairs(given: list[str] | None, option: str) -> dict[str, Any]:
    """Return KEY=VALUE texts as a mapping. Values are parsed as JSON where possible, and are text otherwise.

    Raises:
        ValueError: A text has no equals sign.
    """
    read: dict[str, Any] = {}
    for pair in given or ():
        key, sign, value = pair.partition("=")
        if not key or not sign:
            raise ValueError(f"expected {option} KEY=VALUE, got {pair!r}; put an equals sign between them")
        try:
            read[key] = json.loads(value)
        except ValueError:
            read[key] = value
    learn(read)  # before anything is done with them that can fail
    return read


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _of_option(name: str, option: RunOption, default: Any, one_strategy: str) -> inspect.Parameter:
    """Return the command's parameter for an option of a run."""
    flag = f"--{option.flag or name.replace('_', '-')}"
    facts: dict[str, Any] = {"help": option.help}
    if option.metavar or option.kind is dict:
        facts["metavar"] = option.metavar or "KEY=VALUE"
    kind: Any = option.kind
    if name == "strategies" and one_strategy:
        flag, default, facts = "--strategy", one_strategy, {"help": "Strategy; a preset's own method by default."}
        kind = str
    elif option.kind is dict:
        kind, default = list[str] | None, None
    elif option.takes_several:
        is_set = default is not None and name != "verifier"  # which the environment chooses
        kind = str if is_set else str | None
        default = ",".join(map(str, default)) if is_set else None
    elif option.kind is bool:
        flag = f"{flag}/--no-{name.replace('_', '-')}"
    elif default is None or name == "preset":
        kind, default = option.kind | None, None
    return _parameter(name, Annotated[kind, typer.Option(flag, **facts)], default)


def several(given: str, kind: type, option: str) -> tuple[Any, ...]:
    """Return the values of a comma-separated list.

    Raises:
        ValueError: A number can't be parsed.
    """
    try:
        return tuple(kind(value.strip()) for value in given.split(",") if value.strip() or kind is not str)
    except ValueError:
        raise ValueError(f"expected {option} with whole numbers separated by commas, got {given!r}") from None
