"""Environments and the parts that they name: each part is looked at, and each environment begins an episode.

An environment's class lists its requirements in `NEEDS` and `OPTIONS`, each with a `name`, a `check` and its purpose
(`use`). An environment that lists none is only tried.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from gymnasium.envs.registration import load_env_creator

from iad_policy.commands.doctor.findings import Deadline, Finding, FindingGroup, Status, begun, shortened
from iad_policy.commands.doctor.machine import Install, Machine

BADNESS: tuple[Status, ...] = ("missing", "slow", "broken")
SPARE_S = 0.5
"""What a part may take less than everything together, so that it ends what it has begun."""


class RequirementCheck(Protocol):
    """What an environment names; `iad_envs.requirements.Requirement` is one."""

    @property
    def name(self) -> str:
        """In a few letters."""

    @property
    def check(self) -> Callable[[float], str]:
        """Tries it within some seconds; an error with `install` says what gives a part that is missing."""

    @property
    def use(self) -> str:
        """What an optional one is for."""


class CheckedEnvironment(NamedTuple):
    """A part as it was found."""

    finding: Finding
    install: Install | None


class Requirements:
    """The parts of all environments, each looked at once.

    Args:
        machine: Writes the commands.
        deadline: Until which is waited.
    """

    def __init__(self, machine: Machine, deadline: Deadline) -> None:
        self._machine = machine
        self._deadline = deadline
        self._parts: dict[str, RequirementCheck] = {}
        self._coming: dict[str, Future[str]] = {}

    def begin(self, parts: Sequence[RequirementCheck]) -> None:
        """Begin to look at those that nobody has named before."""
        for part in parts:
            if part.name not in self._parts:
                self._parts[part.name] = part
                limit_s = max(0.1, round(self._deadline.left_s - SPARE_S, 1))
                self._coming[part.name] = begun(partial(part.check, limit_s))

    def looked(self, name: str) -> CheckedEnvironment:
        """Return what came of a part."""
        use = self._parts[name].use
        about = f"optional: {use}" if use else ""
        try:
            said = self._deadline.result(self._coming[name])
        except TimeoutError as error:
            return CheckedEnvironment(self._deadline.slow(name, shortened(error)), None)
        except Exception as error:
            install: Install | None = getattr(error, "install", None)
            told = "; ".join(text for text in (shortened(error) if str(error) else "", about) if text)
            if install is None:
                return CheckedEnvironment(Finding(name, "broken", told or shortened(error)), None)
            return CheckedEnvironment(Finding(name, "missing", told, self._machine.command([install])), install)
        return CheckedEnvironment(Finding(name, "ok", said), None)

    def command(self, installs: Sequence[Install]) -> str:
        """Return the one command that gives several."""
        return self._machine.command(installs)

    def group(self) -> FindingGroup:
        """Return a row for each."""
        return FindingGroup("Requirements", tuple(self.looked(name).finding for name in self._parts))


def check_environments(
    environments: Mapping[str, Any], make: Callable[[str], Any], *, machine: Machine, deadline: Deadline
) -> tuple[FindingGroup, FindingGroup]:
    """Return whether every environment can be used, and their parts.

    Args:
        environments: Id -> entry point, as it was registered.
        make: Makes one by its id.
        machine: Writes the commands.
        deadline: Until which is waited.
    """
    parts = Requirements(machine, deadline)
    named = {name: _parts_of(entry) for name, entry in environments.items()}
    for some in (*(needs for needs, _ in named.values()), *(options for _, options in named.values())):
        parts.begin(some)
    tries = {name: begun(partial(_tried, name, make, parts, needs)) for name, (needs, _) in named.items()}
    findings = tuple(_environment(name, work, deadline) for name, work in tries.items())
    return FindingGroup("Environments", findings), parts.group()


def check_data_folder(variable: str, value: str) -> Finding:
    """Return whether the folder that an environment variable names for data is there."""
    if not value:
        return Finding(variable, "not set", f"bundled data; {variable}=DIR names official ones")
    if Path(value).is_dir():
        return Finding(variable, "set", value)
    return Finding(variable, "broken", f"{value} is no folder", f"unset {variable}", is_needed=True)


def _parts_of(entry: Any) -> tuple[Sequence[RequirementCheck], Sequence[RequirementCheck]]:
    try:
        creator = load_env_creator(entry) if isinstance(entry, str) else entry
    except Exception:  # making it will say why
        return (), ()
    return getattr(creator, "NEEDS", ()), getattr(creator, "OPTIONS", ())


def _environment(name: str, work: "Future[Finding]", deadline: Deadline) -> Finding:
    try:
        return deadline.result(work)
    except TimeoutError as error:
        return deadline.slow(name, shortened(error))


def _tried(name: str, make: Callable[[str], Any], parts: Requirements, needs: Sequence[RequirementCheck]) -> Finding:
    found = [parts.looked(part.name) for part in needs]
    wrong = [one for one in found if one.finding.status != "ok"]
    if wrong:
        said = ", ".join(one.finding.name for one in wrong)
        installs = [one.install for one in wrong if one.install is not None]
        fix = parts.command(installs) if len(installs) == len(wrong) else ""
        return Finding(name, max((one.finding.status for one in wrong), key=BADNESS.index), said, fix)
    try:
        env = make(name)
        try:
            env.reset(seed=0)
            return Finding(name, "ok", _about(env.unwrapped), is_needed=True)
        finally:
            env.close()
    except Exception as error:  # whatever is wrong with it, the other checks go on
        if getattr(error, "is_missing", False):  # the machine is not made for it
            return Finding(name, "missing", shortened(error))
        return Finding(name, "broken", shortened(error), is_needed=True)


def _about(env: Any) -> str:
    tasks = getattr(env, "task_ids", None)
    said = [] if tasks is None else [f"{len(tasks)} tasks"]
    data = getattr(env, "data", None)
    if data is not None:
        where = "" if data.name == "bundled" else f" in {data.folder}"
        said.append(f"{data.name} data {data.digest}{where}")
    return ", ".join(said)
