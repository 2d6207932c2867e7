"""Checks what is installed on this machine, with the command that installs each missing part: `iad doctor`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from iad_policy.commands.doctor.environments import check_data_folder, check_environments
from iad_policy.commands.doctor.findings import Deadline, Finding, FindingGroup
from iad_policy.commands.doctor.installed import check_extras, check_installation
from iad_policy.commands.doctor.machine import Machine
from iad_policy.commands.doctor.models import check_models

__all__ = ["LIMIT_S", "Finding", "FindingGroup", "examine"]

LIMIT_S = 4.0


def examine(
    environments: Mapping[str, Any],
    make: Callable[[str], Any],
    *,
    variables: Mapping[str, str],
    data_variable: str,
    cache: Path,
    limit_s: float = LIMIT_S,
) -> list[FindingGroup]:
    """Run all checks and return their findings, within about `limit_s`.

    Args:
        environments: Environment id -> its registered entry point.
        make: Function that makes an environment from its id.
        variables: Environment variables of the process.
        data_variable: Name of the environment variable that points to the data folder.
        cache: File with the cached model answers.
        limit_s: Seconds to wait for all checks together.
    """
    deadline = Deadline(limit_s)
    machine = Machine.here()
    models = check_models(variables, cache, deadline)
    tried, parts = check_environments(environments, make, machine=machine, deadline=deadline)
    data = check_data_folder(data_variable, variables.get(data_variable, ""))
    return [
        check_installation(machine),
        tried._replace(findings=(*tried.findings, data)),
        parts,
        check_extras(machine),
        models,
    ]
