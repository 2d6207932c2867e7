"""Checks environments and their requirements. Each requirement is checked, and each environment starts an episode.

An environment's class lists its requirements in `NEEDS` and `OPTIONS`, each with a `name`, a `check` and its purpose
(`use`). An environment that lists none only has to start.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from gymnasium.envs.registration import load_env_creator

from iad_policy.commands.doctor.findings import Deadline, Finding, FindingGroup, shortened, started
from iad_policy.commands.doctor.machine import Install, Machine


class RequirementCheck(Protocol):
    """A requirement as an environment lists it. `iad_envs.requirements.Requirement` is one.

    Attributes:
        name: Short name, such as `browser`.
        check: Function that checks it within a number of seconds. An error with `install` says how to install it.
        use: Purpose of an optional requirement.
    """

    name: str
    check: Callable[[float], str]
    use: str


class CheckedRequirement(NamedTuple):
    """A requirement's finding, with the way to install it if it is missing."""

    finding: Finding
    install: Install | None


class Requirements:
    """The requirements of all environments. Each is checked once.

    Args:
        machine: This machine, which writes the install commands.
        deadline: Common deadline of all checks.
    """

    def __init__(self, machine: Machine, deadline: Deadline) -> None:
        self.machine = machine
        self._deadline = deadline
        self._parts: dict[str, RequirementCheck] = {}
        self._pending: dict[str, Future[str]] = {}

    def begin(self, parts: Sequence[RequirementCheck]) -> None:
        """Start the checks of those requirements that no environment has listed before."""
        for part in parts:
            if part.name not in self._parts:
                self._parts[part.name] = part
                # It ends before the common deadline, so that it can clean up.
                limit_s = max(0.1, round(self._deadline.left_s - 0.5, 1))
                self._pending[part.name] = started(partial(part.check, limit_s))

    def result_of(self, name: str) -> CheckedRequirement:
        """Wait for a requirement's check and return its result."""
        use = self._parts[name].use
        about = f"optional: {use}" if use else ""
        try:
            said = self._deadline.result(self._pending[name])
        except TimeoutError as error:
            return CheckedRequirement(self._deadline.slow(name, shortened(error)), None)
        except Exception as error:
            install: Install | None = getattr(error, "install", None)
            text = "; ".join(text for text in (shortened(error) if str(error) else "", about) if text)
            if install is None:
                return CheckedRequirement(Finding(name, "broken", text or shortened(error)), None)
            return CheckedRequirement(Finding(name, "missing", text, self.machine.command([install])), install)
        return CheckedRequirement(Finding(name, "ok", said), None)

    def group(self) -> FindingGroup:
        """Return a finding for each requirement."""
        return FindingGroup("Requirements", tuple(self.result_of(name).finding for name in self._parts))


def check_environments(
    environments: Mapping[str, Any], make: Callable[[str], Any], *, machine: Machine, deadline: Deadline
) -> tuple[FindingGroup, FindingGroup]:
    """Return the findings for all environments, and for their requirements.

    Args:
        environments: Environment id -> its registered entry point.
        make: Function that makes an environment from its id.
        machine: This machine, which writes the install commands.
        deadline: Common deadline of all checks.
    """
    parts = Requirements(machine, deadline)
    creators = {}
    for name, entry in environments.items():
        try:
            creators[name] = load_env_creator(entry) if isinstance(entry, str) else entry
        except Exception:  # making the environment reports the same error
            creators[name] = None
    for kind in ("NEEDS", "OPTIONS"):
        for creator in creators.values():
            parts.begin(getattr(creator, kind, ()))
    tries = {
        name: started(partial(_check_environment, name, make, parts, getattr(creator, "NEEDS", ())))
        for name, creator in creators.items()
    }
    findings = []
    for name, work in tries.items():
        try:
            findings.append(deadline.result(work))
        except TimeoutError as error:
            findings.append(deadline.slow(name, shortened(error)))
    return FindingGroup("Environments", tuple(findings)), parts.group()


def check_data_folder(variable: str, value: str) -> Finding:
    """Check that the data folder named by an environment variable exists."""
    if not value:
        return Finding(variable, "not set", f"bundled data; {variable}=DIR for official data")
    if Path(value).is_dir():
        return Finding(variable, "set", value)
    return Finding(variable, "broken", f"{value} is not a folder", f"unset {variable}", is_needed=True)


def _check_environment(
    name: str, make: Callable[[str], Any], parts: Requirements, needs: Sequence[RequirementCheck]
) -> Finding:
    found = [parts.result_of(part.name) for part in needs]
    wrong = [one for one in found if one.finding.status != "ok"]
    if wrong:
        names = ", ".join(one.finding.name for one in wrong)
        worst = max((one.finding.status for one in wrong), key=("missing", "slow", "broken").index)
        installs = [one.install for one in wrong if one.install is not None]
        fix = parts.machine.command(installs) if len(installs) == len(wrong) else ""
        return Finding(name, worst, names, fix)
    try:
        env = make(name)
        try:
            env.reset(seed=0)
            tasks, data = getattr(env.unwrapped, "task_ids", None), getattr(env.unwrapped, "data", None)
            said = [] if tasks is None else [f"{len(tasks)} tasks"]
            if data is not None:
                where = "" if data.name == "bundled" else f" in {data.folder}"
                said.append(f"{data.name} data {data.digest}{where}")
            return Finding(name, "ok", ", ".join(said), is_needed=True)
        finally:
            env.close()
    except Exception as error:  # one broken environment must not stop the other checks
        if getattr(error, "is_missing", False):  # this machine can't run it
            return Finding(name, "missing", shortened(error))
        return Finding(name, "broken", shortened(error), is_needed=True)
