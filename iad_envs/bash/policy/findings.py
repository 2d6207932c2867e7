"""Everything that speaks against what an episode has done in the shell. It uses no gold.

To add a kind of finding, write its check into one of the three files below, and fit the weights again.
"""

from iad_envs.bash.policy import change_findings, command_findings, output_findings
from iad_envs.bash.policy.effects import Done
from iad_envs.bash.policy.finding import Checks, ShellFinding

CHECKS: Checks = {**output_findings.CHECKS, **change_findings.CHECKS, **command_findings.CHECKS}
"""Name -> check."""


def findings_of(done: Done) -> dict[str, ShellFinding]:
    """Return the findings about what was done, by name. There has to be a command."""
    found = {name: check(done) for name, check in CHECKS.items()}
    return {name: finding for name, finding in found.items() if finding is not None}
