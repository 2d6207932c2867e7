"""What is available on this machine, and the one command that gives each missing thing: `iad doctor`."""

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
    """Return what was found, in about as long as is waited for at most.

    Args:
        environments: Id -> entry point, as it was registered.
        make: Makes an environment by its id.
        variables: The environment variables.
        data_variable: The one that names a folder of data.
        cache: The file of model answers.
        limit_s: How long is waited for everything together.
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
