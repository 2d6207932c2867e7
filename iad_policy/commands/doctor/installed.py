"""Checks Python, this project's required packages and its extras against the project's metadata."""

import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata

from packaging.requirements import Requirement

from iad_policy.commands.doctor.findings import Finding, FindingGroup
from iad_policy.commands.doctor.machine import DISTRIBUTION, ROOT, Machine

Version = Callable[[str], str]


def check_installation(
    machine: Machine, requirements: Iterable[str] | None = None, version: Version = metadata.version
) -> FindingGroup:
    """Check that the base install is complete.

    Args:
        machine: This machine, which writes the install commands.
        requirements: Requirements of the project, by default from its installed metadata.
        version: Function that returns a package's version, or raises `PackageNotFoundError`.
    """
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        system = f"{platform.system()} {platform.release()}"
    python = Finding(
        "Python",
        "ok" if sys.version_info >= (3, 11) else "broken",
        f"{platform.python_version()}, {sys.executable}; {system}",
        is_needed=True,
    )
    fix = f"{machine.pip} {machine.with_extras(())}"
    try:
        ours = version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return FindingGroup(
            "Installation", (python, Finding("iad", "missing", f"not installed, {ROOT}", fix, is_needed=True))
        )
    needed = [one for one in _parsed(requirements) if one.marker is None or one.marker.evaluate({"extra": ""})]
    wrong = [said for said in (_wrong(one, version) for one in needed) if said]
    if wrong:
        found = Finding("iad", "broken", f"{ours}: {'; '.join(wrong)}", fix, is_needed=True)
    else:
        found = Finding("iad", "ok", f"{ours} with its {len(needed)} required packages, {ROOT}", is_needed=True)
    return FindingGroup("Installation", (python, found))


def check_extras(
    machine: Machine, requirements: Iterable[str] | None = None, version: Version = metadata.version
) -> FindingGroup:
    """Return which extras are installed, with a command for the others. Arguments as in `check_installation`."""
    by_extra = extras_of(_parsed(requirements))
    missing = [name for name, needed in by_extra.items() if any(_wrong(one, version) for one in needed)]
    complete = [name for name in by_extra if name not in missing]
    findings = []
    if complete:
        findings.append(Finding("installed", "ok", ", ".join(complete)))
    if missing:
        # One name in the command, as it is meant to be edited: all of them are gigabytes.
        fix = f"{machine.pip} {machine.with_extras(missing[:1])}"
        said = f"{', '.join(missing)}; install only those you need"
        findings.append(Finding("not installed", "missing", said, fix))
    return FindingGroup("Extras", tuple(findings))


def extras_of(requirements: Iterable[Requirement]) -> Mapping[str, list[Requirement]]:
    """Return extra -> the packages that it adds, including those of other extras that it names."""
    requirements = list(requirements)
    try:
        names = sorted(metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or [])
    except metadata.PackageNotFoundError:
        names = []
    return {name: _added(name, requirements, set()) for name in names}


def _added(extra: str, requirements: list[Requirement], seen: set[str]) -> list[Requirement]:
    added: list[Requirement] = []
    seen.add(extra)
    for one in requirements:
        is_added = one.marker is not None and one.marker.evaluate({"extra": extra})
        if not is_added or one.marker is None or one.marker.evaluate({"extra": ""}):
            continue
        if one.name == DISTRIBUTION:
            for name in sorted(one.extras - seen):
                added += _added(name, requirements, seen)
        else:
            added.append(one)
    return added


def _parsed(requirements: Iterable[str] | None) -> list[Requirement]:
    if requirements is None:
        try:
            requirements = metadata.requires(DISTRIBUTION) or []
        except metadata.PackageNotFoundError:
            requirements = []
    return [Requirement(one) for one in requirements]


def _wrong(requirement: Requirement, version: Version) -> str:
    """Return the problem with a package, or "" if there is none."""
    try:
        found = version(requirement.name)
    except metadata.PackageNotFoundError:
        return f"{requirement.name} is not installed"
    if requirement.specifier.contains(found, prereleases=True):
        return ""
    return f"{requirement.name} is {found}, expected {requirement.specifier}"
