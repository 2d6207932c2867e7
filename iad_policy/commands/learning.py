"""Commands that learn: `iad explore`, `train`, `improve` and `reproduce`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from iad_policy.commands.options import pairs
from iad_policy.commands.terminal import clear_errors, counting_bar, make_console, tell
from iad_policy.learn.explore import HOWS, explore
from iad_policy.learn.improve import METHODS, Buffer, improve
from iad_policy.learn.laboratory import N_TEST
from iad_policy.learn.progress import showing
from iad_policy.learn.recipes import RECIPES
from iad_policy.learn.reproduce import coverage, reproduce
from iad_policy.learn.simulators import N_TASKS, OUTCOME_TYPES, record_outcomes, train_simulator
from iad_policy.learn.train import train
from iad_policy.ledger.run import Run
from iad_policy.papers import compared_in, comparisons, load_comparison
from iad_policy.registry import importing_only
from iad_policy.registry.domain import domain_by_id
from iad_policy.registry.environments import registered
from iad_policy.run.resolve import parameters_of
from iad_policy.trained.backends import BACKENDS
from iad_policy.trained.models import SIMULATOR

OUTCOMES = "outcomes"
"""The way to explore that records single outcomes, for simulators."""
Env = Annotated[str, typer.Argument(metavar="ENV", help="Environment id, such as IAD/WebShop-v0.")]
Options = Annotated[list[str] | None, typer.Option("--option", metavar="KEY=VALUE", help="Option of the method.")]
Backend = Annotated[str, typer.Option(help=f"What is trained: {', '.join(BACKENDS)}.")]
Seed = Annotated[int, typer.Option(help="Seed of draws and of the order of examples.")]


@contextmanager
def _watched() -> Iterator[None]:
    """Turn errors that the user can fix into messages, and show a progress bar for the work of the moment."""
    with clear_errors(), counting_bar(make_console()) as bar:
        shown = bar.add_task("", total=None)
        with showing(lambda name, done, total: bar.update(shown, description=name, completed=done, total=total)):
            yield


def explore_tasks(
    env: Env,
    out: Annotated[Path, typer.Option(help="Run folder; the file of outcomes.")],
    agent: Annotated[str | None, typer.Option(help="Agent; by default the environment's.")] = None,
    how: Annotated[str, typer.Option(help=f"Way to explore: {', '.join([*HOWS, OUTCOMES])}.")] = "rollouts",
    reward: Annotated[str, typer.Option(help="Verifier that rewards.")] = "oracle",
    critic: Annotated[str | None, typer.Option(help="Verifier that ranks proposals, if not the reward.")] = None,
    tasks: Annotated[int | None, typer.Option(help="Number of training tasks; by default all.")] = None,
    episodes: Annotated[int | None, typer.Option(help="Episodes per task.")] = None,
    temperature: Annotated[float, typer.Option(help="Temperature of proposals.")] = 1.0,
    workers: Annotated[int, typer.Option(help="Episodes that run in parallel.")] = 1,
    seed: Seed = 0,
    option: Options = None,
) -> None:
    """Play training tasks, and record what there is to learn from. The same command resumes a run."""
    with _watched():
        if how == OUTCOMES:
            agents = () if agent is None else tuple(agent.split(","))
            record_outcomes(env, out, agents=agents, tasks=tasks or N_TASKS, seed=seed, report=tell)
            tell(f"Outcomes: {out}")
            return
        settings = {f"{HOWS[how].strategy}.{k}" if how in HOWS else k: v for k, v in pairs(option, "--option").items()}
        explore(
            env,
            agent,
            out=out,
            how=how,
            reward=reward,
            critic=critic,
            tasks=tasks,
            episodes=episodes,
            temperature=temperature,
            workers=workers,
            seed=seed,
            strategy_args=settings,
            report=tell,
        )
    tell(f"Run folder: {out}")


def train_model(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help=f"What to do: {', '.join([*RECIPES, SIMULATOR])}.")],
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Run folders on training tasks; for ppo the environment; for simulator a file of outcomes.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the model.")],
    backend: Annotated[
        str, typer.Option(help=f"What is trained: {', '.join(BACKENDS)}. By default linear; of a simulator outcomes.")
    ] = "",
    start: Annotated[Path | None, typer.Option("--from", help="Model folder that training goes on from.")] = None,
    env: Annotated[str, typer.Option(help="For simulator: the environment of the outcomes.")] = "",
    allow: Annotated[
        list[str] | None, typer.Option(metavar="module:Id", help="The runs' own environment, whose module is imported.")
    ] = None,
    seed: Seed = 0,
    option: Options = None,
) -> None:
    """Train a policy, a value model or a simulator. The same command resumes it."""
    with _watched():
        if recipe == SIMULATOR:
            if len(runs) != 1:
                raise ValueError(f"expected one file of outcomes, got {', '.join(runs)}; name one")
            if not env:
                raise ValueError("expected --env ENV, the environment that the outcomes are of, got none; pass it")
            if start is not None:
                raise ValueError(f"expected no --from for a simulator, got {start}; leave it out")
            settings = {"backend": backend or OUTCOME_TYPES, **pairs(option, "--option")}
            train_simulator(runs[0], env, out=out, seed=seed, report=tell, **settings)
        else:
            settings = {"backend": backend or "linear", **pairs(option, "--option")}
            for run in runs:
                of_run = Run(run).config["env"] if Path(run).is_dir() else run
                if ":" in of_run and registered(of_run.rpartition(":")[2]) is None:
                    with importing_only([*(allow or ()), run]):  # the folder may be somebody else's
                        parameters_of(of_run)
            train(recipe, runs, out=out, start=start, seed=seed, report=tell, **settings)
    tell(f"Model folder: {out}")


def improve_agent(
    env: Env,
    out: Annotated[Path, typer.Option(help="Folder of the rounds.")],
    agent: Annotated[str | None, typer.Option(help="Agent that demonstrates; by default the environment's.")] = None,
    method: Annotated[str, typer.Option(help=f"How a round learns: {', '.join(METHODS)}.")] = "dpo",
    rounds: Annotated[int, typer.Option(help="Number of rounds.")] = 3,
    backend: Backend = "linear",
    tasks: Annotated[int | None, typer.Option(help="Training tasks per round; by default all.")] = None,
    demos: Annotated[int, typer.Option(help="Demonstrations that round 0 imitates.")] = 10,
    dev_tasks: Annotated[int | None, typer.Option(help="Tasks that choose a round; by default all.")] = None,
    buffer: Annotated[
        str, typer.Option(help=f"Rounds whose data a round trains on: {', '.join(get_args(Buffer))}.")
    ] = "newest",
    seed: Seed = 0,
    option: Options = None,
) -> None:
    """Explore and train in turn, and keep the round that is best on dev tasks. The same command resumes it."""
    with _watched():
        found = improve(
            env,
            method,
            out=out,
            agent=agent,
            rounds=rounds,
            backend=backend,
            tasks=tasks,
            demos=demos,
            dev_tasks=dev_tasks,
            buffer=cast("Buffer", buffer),
            seed=seed,
            report=tell,
            **pairs(option, "--option"),
        )
    tell(f"Best on dev: round {found.best}. Its agent: {found.agent}")


def reproduce_paper(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help=f"Whose comparison: {', '.join(comparisons())}.", show_default=False)
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Folder; by default one in runs/ named after the paper.")] = None,
    env: Annotated[str, typer.Option(help="Environment id; by default each that the paper is compared in.")] = "",
    agent: Annotated[
        str | None,
        typer.Option(help="Agent of the comparisons that train none, which are then run alone; by default their own."),
    ] = None,
    simulator: Annotated[
        str | None, typer.Option(help="Trained simulator, llm:<folder>: adds an arm with it, where the paper has one.")
    ] = None,
    backend: Backend = "linear",
    seeds: Annotated[str, typer.Option(metavar="SEED[,SEED...]", help="Seeds of training and measuring.")] = "0,1,2",
    tasks: Annotated[int, typer.Option(help="Number of test tasks.")] = N_TEST,
    scale: Annotated[float, typer.Option(help="Share of the training tasks that is explored.")] = 1.0,
    list_: Annotated[
        bool, typer.Option("--list", help="Only say what is compared, of every paper if none is named, and what not.")
    ] = False,
) -> None:
    """Run a paper's comparisons at our scale, and say which of its trends are confirmed here."""
    with _watched():
        numbers = tuple(int(one) for one in seeds.split(","))
        if list_:
            tell(coverage(paper, env))
            return
        if not paper:
            raise ValueError(f"expected a paper, got none; name one of {', '.join(comparisons())}, or pass --list")
        environments = (env,) if env else compared_in(paper)
        if agent and not env:  # where policies are trained, there is nothing to put it in
            untrained = tuple(one for one in environments if load_comparison(paper, one).stages is None)
            environments = untrained or environments
        for one in environments:
            if not (env or agent) and load_comparison(paper, one).needs_model:
                tell(
                    f"{one} is left out, as its comparison needs a language model: iad reproduce {paper} --env {one} "
                    f"--agent {domain_by_id(one).advised}"
                )
                continue
            folder = (out or Path("runs") / paper) / ("" if env else one.rpartition("/")[2])
            found = reproduce(
                paper, out=folder, env=one, agent=agent, simulator=simulator, backend=backend, seeds=numbers,
                tasks=tasks, scale=scale, report=tell,
            )  # fmt: skip
            make_console().print(found)
            tell(f"Folder: {folder}")
