"""The papers whose experiments are run here, one file per paper: settings, comparisons and figures.

`--preset` takes the settings of an experiment, `iad reproduce` runs its comparison, and `iad sweep` draws its figures.
To add an experiment, add an entry to its paper's file. To add a paper, write its file and name it in `PAPERS`.

Each detail of a paper that is easily done otherwise has a number in its file. It is there as published, and `SHOWN`
names the test that shows it, or it is not, and `DIFFERS` says what is done instead. No other place says so.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from iad_policy.errors import UnknownName
from iad_policy.registry import load_object

PAPERS = ("iad", "intercode", "agentq", "lats", "best_first", "qstar", "artis")
"""The files. Each has its experiments by name, `<paper>/<environment>`, as `EXPERIMENTS`."""
WEBSHOP = "IAD/WebShop-v0"
Settings = Mapping[str, Any]
"""Parts of a run's configuration by name, as in `RunConfig`. All tasks of the split are run unless `tasks` is set."""


class PaperDifference(NamedTuple):
    """What is done otherwise than in a paper.

    Attributes:
        says: It, in a sentence or two.
        where: `settings` if it is about runs with the paper's settings (`--preset`), `comparison` if about what is
            measured at our scale (`iad reproduce`), `training` if about comparisons that train, "" if about all.
        envs: The environments that it is about. Empty for all.
    """

    says: str
    where: Literal["", "settings", "comparison", "training"] = ""
    envs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """An experiment of a paper in an environment. If two versions of a paper differ, each has an entry of its own.

    The settings that a paper states and those that it leaves open are kept apart, and both are printed with the run.

    Attributes:
        env: The environment's id.
        source: The paper, and its version and section or code.
        strategies: The strategies, baselines first and the paper's own method last.
        stated: The settings that the paper states. In a text, `{model}` stands for the agent's language model; without
            one, such a setting is left out, and the run says so.
        sections: Setting -> the version and section that states it, where `source` doesn't say.
        ours: The settings that the paper leaves open, with our values.
        agent: Name of the paper's agent without its model. "" if any agent will do.
        model: The language models that the paper's figures are of.
        published: What the paper reports for them, baselines first, as published.
        notes: Other facts that the paper states, and how we read them.
        comparison: What is trained and measured at our scale, if anything is.
        figures: The paper's figures that are drawn of runs here, by number.
    """

    env: str
    source: str
    strategies: tuple[str, ...]
    stated: Settings = field(default_factory=dict)
    sections: Mapping[str, str] = field(default_factory=dict)
    ours: Settings = field(default_factory=dict)
    agent: str = ""
    model: str = ""
    published: str = ""
    notes: tuple[str, ...] = ()
    comparison: "PaperComparison | None" = None
    figures: Mapping[str, tuple["FigurePanel", ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperComparison:
    """Stages of training, arms that are measured, and claims: which arm the paper has above which.

    Attributes:
        title: What it is.
        source: Where it was published.
        stages: Explores and trains with one seed, in a laboratory; None if nothing is trained.
        arms: What is measured, by name.
        claims: What the paper has above what.
        pictures: What is drawn of the arms, beside the paper's numbers.
        envs: The environments that it is for. Empty for the one that is run everywhere else.
        needs_model: Whether the agent has to be a language model, so that it is not run without one.
    """

    title: str
    source: str
    stages: Callable[["Laboratory"], None] | None
    arms: Mapping[str, "MeasuredArm"]
    claims: tuple["Claim", ...]
    pictures: tuple["ArmPicture", ...]
    envs: tuple[str, ...] = ()
    needs_model: bool = False

    @property
    def n_proposals(self) -> int:
        """How many proposals per decision its arms make together."""
        return sum(int(arm.options.get("n", 1)) for arm in self.arms.values())

    def for_what_is_trained(self, *, reads_text: bool, has_simulator: bool = False) -> "PaperComparison":
        """Return the comparison without the arms that say nothing for what is trained, nor their claims."""
        arms = {
            name: arm
            for name, arm in self.arms.items()
            if not (arm.needs_text and not reads_text)
            and not (arm.needs_features and reads_text)
            and not (arm.needs_simulator and not has_simulator)
        }
        return replace(
            self,
            arms=arms,
            claims=tuple(one for one in self.claims if one.arms <= set(arms)),
            pictures=tuple(
                replace(one, arms={name: known for name, known in one.arms.items() if name in arms})
                for one in self.pictures
            ),
        )


@dataclass(frozen=True, slots=True)
class MeasuredArm:
    """What is measured: an agent under a strategy.

    Attributes:
        agent: Name of a trained policy of the paper's stages, or of any agent if it has no such name. "" is the agent
            that is asked for, by default the environment's own.
        strategy: The strategy.
        options: Its settings, and those of the run.
        verifier: The verifier; the name of a trained value model stands for it.
        simulator: The simulator; the name of a trained one stands for it.
        needs_text: Whether it differs from another arm only for a policy that reads text. Others leave it out.
        needs_features: Whether it can't be trained with a language model.
        evaluator: The component of the role evaluator; the name of a trained one stands for it.
        needs_simulator: Whether its simulator is the one that is given. Without one it is left out.
    """

    agent: str
    strategy: str = "single"
    options: Settings = field(default_factory=dict)
    verifier: str = ""
    simulator: str = ""
    needs_text: bool = False
    needs_features: bool = False
    evaluator: str = ""
    needs_simulator: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """A trend of a paper: one arm is above another.

    Attributes:
        name: Its name in the tables.
        more: Name of the better arm.
        less: Name of the other.
        beyond: Two arms whose own difference is subtracted, for claims that a gap shrinks.
        published: The paper's figures.
        least: How far the interval of the difference has to be above 0; negative for "not below".
        metric: What the paper's figures are of: the difference in it decides.
    """

    name: str
    more: str
    less: str
    published: str
    least: float = 0.0
    metric: Literal["reward", "success"] = "reward"
    beyond: tuple[str, str] | None = None

    @property
    def arms(self) -> set[str]:
        """The arms that it is about."""
        return {self.more, self.less, *(self.beyond or ())}


of_success = partial(Claim, metric="success")
"""Makes a claim about success, from its first four fields."""


@dataclass(frozen=True, slots=True)
class ArmPicture:
    """A picture of arms: what was measured here, and beside it what the paper has for them.

    Attributes:
        title: What it shows.
        arms: Name of an arm -> the paper's number, None if it gives none.
        published: What the paper's numbers are of; where it gives none, how it shows them.
        metric: What is drawn of ours.
        x: What the horizontal axis has, `n` or the `proposals` of an episode. The name of an arm up to ", n = " is that
            of its line. "" draws bars.
    """

    title: str
    arms: Mapping[str, float | None]
    published: str = "published as a curve, no figures"
    metric: Literal["reward", "success"] = "success"
    x: Literal["", "n", "proposals"] = ""


class Laboratory(Protocol):
    """Explores and trains for the stages of a paper: see `iad_policy.learn.laboratory`.

    Attributes:
        env: The environment's id.
        folder: The folder of this seed.
        scale: Share of the training tasks that stages explore.
        reads_text: Whether what is trained is a language model.
    """

    env: str
    folder: Path
    scale: float
    reads_text: bool

    def explored(self, name: str, *, tasks: int, agent: str = "", **options: Any) -> Any:
        """Explore training tasks, and return the experience."""
        ...

    def demonstrations(self, found: Any, n: int) -> Any:
        """Return n successful episodes, drawn by the seed."""
        ...

    def trained(self, name: str, recipe: str, found: Any, *, start: str = "", **options: Any) -> None:
        """Train a model on experience, or on several of them."""
        ...

    def simulator(self, name: str, outcomes: str, *, tasks: int, **options: Any) -> None:
        """Train a simulator on recorded outcomes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FigurePanel:
    """A panel of a figure: which runs it shows, over what.

    Texts of `title` and `options` may name `{agent}`, `{verifier}` and `{tasks}` of the sweep, and `{part}`.

    Attributes:
        strategies: The strategies. Each is a line.
        x: What the horizontal axis has: `n`, `rounds` (n by another name), the `proposals` that an episode spent, or
            what the settings vary.
        title: The title. "" names the verifier.
        options: Options of the runs, besides those of the sweep.
        settings: A run for each: its place on the axis -> its options. If `x` is `n`, each setting is a line instead,
            and each strategy has a panel of its own.
        metric: The metric. "" takes that of the sweep.
        parts: Whether there is another panel for each part of the reward as the `metrics`, or one pair of panels for
            each as the `verifiers`.
        agent: `weak` leaves the panel out where the sweep has no weak agent. `weak if any` takes the other one there.
        subset: Share of the sweep's tasks.
    """

    strategies: tuple[str, ...]
    x: str = "n"
    title: str = ""
    options: Settings = field(default_factory=dict)
    settings: Mapping[str | float, Settings] = field(default_factory=dict)
    metric: str = ""
    parts: Literal["", "metrics", "verifiers"] = ""
    agent: Literal["", "weak", "weak if any"] = ""
    subset: float = 1.0


@cache
def experiments() -> Mapping[str, Experiment]:
    """Return all experiments, by name."""
    return {name: one for paper in PAPERS for name, one in experiments_of(paper).items()}


def experiments_of(paper: str) -> Mapping[str, Experiment]:
    """Return the experiments of a paper."""
    found: Mapping[str, Experiment] = load_object(f"iad_policy.papers.{paper}:EXPERIMENTS")
    return found


def what_differs(name: str, where: Literal["settings", "comparison"], env: str) -> tuple[str, ...]:
    """Return what is done otherwise than in a paper, a sentence or two each.

    Args:
        name: Name of the paper, or of an experiment: `<paper>/<environment>`.
        where: What is asked about; see `PaperDifference`.
        env: Id of the environment.
    """
    module = next(paper for paper in PAPERS if name in (paper, *experiments_of(paper)))
    asked = {"", where}
    if where == "comparison" and load_comparison(module, env).stages is not None:
        asked.add("training")
    known: Mapping[str, PaperDifference] = getattr(import_module(f"iad_policy.papers.{module}"), "DIFFERS", {})
    return tuple(one.says for one in known.values() if one.where in asked and (not one.envs or env in one.envs))


def find_experiment(name: str, env: str | None = None) -> Experiment:
    """Return an experiment by its name, which is that of its preset.

    Raises:
        UnknownName: There is no such preset.
        ValueError: It is for another environment.
    """
    known = experiments()
    if name not in known:
        raise UnknownName("preset", name, known)
    found = known[name]
    if env is not None and env.rpartition(":")[2] != found.env:
        fitting = [other for other, one in known.items() if one.env == env.rpartition(":")[2]]
        raise ValueError(
            f"expected the environment {found.env} for the preset {name}, got {env}; leave it out, or use one of its "
            f"presets: {', '.join(fitting) or 'there is none'}"
        )
    return found


@cache
def comparisons() -> Mapping[str, tuple[PaperComparison, ...]]:
    """Return the papers that have comparisons, with these."""
    found = {
        paper: tuple(one.comparison for one in experiments_of(paper).values() if one.comparison) for paper in PAPERS
    }
    return {paper: own for paper, own in found.items() if own}


def compared_in(paper: str) -> tuple[str, ...]:
    """Return the environments that a paper's comparisons are for, one each; WebShop is that of the one for any.

    Raises:
        UnknownName: There is no such paper.
    """
    return tuple((one.envs or (WEBSHOP,))[0] for one in _comparisons_of(paper))


def load_comparison(paper: str, env: str = "") -> PaperComparison:
    """Return a paper's comparison: the one for an environment, where the paper has several.

    Raises:
        UnknownName: There is no such paper.
    """
    known = _comparisons_of(paper)
    return next(one for wanted in (env, None) for one in known if wanted in one.envs or not (wanted or one.envs))


def _comparisons_of(paper: str) -> tuple[PaperComparison, ...]:
    known = comparisons()
    if paper not in known:
        raise UnknownName("paper", paper, known)
    return known[paper]
