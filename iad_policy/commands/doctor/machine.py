"""Writes the commands that install missing parts on this machine."""

import json
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

DISTRIBUTION = "iad"
MANAGERS = {
    "apt-get": "apt-get install",
    "dnf": "dnf install",
    "pacman": "pacman -S",
    "zypper": "zypper install",
    "brew": "brew install",
    "brew --cask": "brew install --cask",
}
"""Package managers with their commands, in the order in which they are searched for. Brew never runs as root."""
ROOT = Path(__file__).parents[3]

Install = Mapping[str, str]
"""How to install a requirement, by package manager: see `iad_envs.requirements.Missing`."""


@dataclass(frozen=True)
class Machine:
    """The facts about this machine that decide how install commands are written.

    Attributes:
        platform: Name of the platform, as in `sys.platform`.
        distribution: `ID` of Linux's os-release, or "" on other systems.
        prefix: Start of a command that needs root, such as "sudo ".
        which: Function that finds a program by name.
        knows_packages: Whether apt-get has package lists. A new container has none.
        pip: Command that installs Python packages in this environment.
        project: Words that name this project to pip, with `{}` in place of its extras.
    """

    platform: str
    distribution: str
    prefix: str
    which: Callable[[str], str | None]
    knows_packages: bool
    pip: str
    project: tuple[str, ...]

    @classmethod
    def here(cls) -> "Machine":
        """Return this machine."""
        try:
            distribution = platform.freedesktop_os_release().get("ID", "")
        except OSError:
            distribution = ""
        try:
            origin = json.loads(metadata.distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
        except metadata.PackageNotFoundError:
            origin = {}
        is_root = hasattr(os, "geteuid") and os.geteuid() == 0
        return cls(
            platform=sys.platform,
            distribution=distribution,
            prefix="" if is_root else "sudo ",
            which=shutil.which,
            knows_packages=any(Path("/var/lib/apt/lists").glob("*_Packages*")),
            pip=pip_command(Path(sys.executable), shutil.which, has_pip=find_spec("pip") is not None),
            project=project_words(origin, ROOT, Path.cwd()),
        )

    def command(self, installs: Sequence[Install]) -> str:
        """Return one command that installs all of these, or "" if none is known."""
        steps = self._packages(installs)
        steps += [self.prefix + each for each in _distinct(installs, "root")]
        steps += _distinct(installs, "command")
        extras = sorted({name for one in installs for name in one.get("extra", "").split(",") if name})
        if extras:
            packages = [shlex.quote(word) for each in _distinct(installs, "package") for word in each.split()]
            steps.append(" ".join([self.pip, *packages, self.with_extras(extras)]))
        return " && ".join(steps)

    def with_extras(self, extras: Sequence[str]) -> str:
        """Return this project with extras, as words of a pip command."""
        chosen = f"[{','.join(extras)}]" if extras else ""
        return " ".join(shlex.quote(word.replace("{}", chosen)) for word in self.project)

    def _packages(self, installs: Sequence[Install]) -> list[str]:
        is_mac = self.platform == "darwin"
        programs = dict.fromkeys(name.split()[0] for name in MANAGERS)
        manager = next((one for one in programs if (one == "brew") == is_mac and self.which(one)), "")
        prefix = "" if is_mac else self.prefix
        steps = []
        for name in (name for name in MANAGERS if name.split()[0] == manager):
            asked = [one.get(self.distribution) or one.get(name, "") for one in installs]
            words = list(dict.fromkeys(word for each in asked for word in each.split()))
            if words:
                steps.append(f"{prefix}{MANAGERS[name]} {' '.join(words)}")
        if steps and manager == "apt-get" and not self.knows_packages:
            steps.insert(0, f"{prefix}apt-get update")
        return steps


def pip_command(python: Path, which: Callable[[str], str | None], *, has_pip: bool) -> str:
    """Return the command that installs packages for an interpreter: `pip` if it belongs to that interpreter."""
    if not has_pip and which("uv"):
        return f"uv pip install --python {shlex.quote(_near(python, Path.cwd()))}"
    pip = which("pip")
    if has_pip and pip and Path(pip).parent == python.parent:
        return "pip install"
    return f"{shlex.quote(_near(python, Path.cwd()))} -m pip install"


def project_words(origin: Mapping[str, object], root: Path, folder: Path) -> tuple[str, ...]:
    """Return the words that name the project to pip, with `{}` in place of its extras.

    Args:
        origin: Origin of the installed distribution from direct_url.json, or empty if it comes from an index.
        root: Folder with the packages, for a checkout that is not installed.
        folder: Folder in which the user types commands.
    """
    url = str(origin.get("url", ""))
    info = origin.get("dir_info")
    if not origin and (root / "pyproject.toml").is_file():
        url, info = root.as_uri(), {"editable": True}
    if not url:
        return (DISTRIBUTION + "{}",)
    if isinstance(info, Mapping):
        words = (_near(Path(unquote(urlsplit(url).path)), folder) + "{}",)
        return ("-e", *words) if info.get("editable") else words
    vcs = origin.get("vcs_info")
    if isinstance(vcs, Mapping):
        url = f"{vcs['vcs']}+{url}@{vcs.get('requested_revision') or vcs['commit_id']}"
    return (DISTRIBUTION + "{} @ " + url,)


def _near(path: Path, folder: Path) -> str:
    """Return a path as typed in a folder: relative if it is below, and with a slash so that pip takes it as a path."""
    if not path.is_relative_to(folder):
        return str(path)
    name = str(path.relative_to(folder))
    return name if name == "." or "/" in name else f"./{name}"


def _distinct(installs: Sequence[Install], key: str) -> list[str]:
    return list(dict.fromkeys(one[key] for one in installs if key in one))
