"""The prompts of an environment, by the path of their folder below its `policy/prompts`."""

from collections.abc import Mapping
from pathlib import Path

from iad_policy.prompts import ANY, Prompts, domain_prompts
from iad_policy.registry.domain import Domain, domain_by_id

MODES: Mapping[str, tuple[str, str]] = {
    "bash": ("IAD/InterCodeBash-v0", ""),
    "bird": ("IAD/BIRD-v0", ""),
    "bird/answer": ("IAD/BIRD-v0", "answer"),
    "booking": ("IAD/Booking-v0", ""),
    "sketch2code": ("IAD/Sketch2Code-v0", ""),
    "toolcalls": ("IAD/BFCL-v0", ""),
    "toolcalls/acebench": ("IAD/ACEBench-v0", ""),
    "toolcalls/acebench/answer": ("IAD/ACEBench-v0", "special"),
    "webshop": ("IAD/WebShop-v0", ""),
}
"""Folder -> environment and its mode."""
FOLDERS = ("any", *MODES)


def prompts(name: str = "any") -> Prompts:
    """Return the prompts of a folder, with those that stand behind it."""
    env, mode = MODES.get(name, ("", ""))
    return domain_prompts(domain_by_id(env) if env else Domain(), mode)


def files() -> dict[str, Path]:
    """Return every prompt file: `webshop/rules` -> path."""
    innermost = {name: prompts(name).folders[0] for name in MODES} | {"any": ANY}
    return {f"{name}/{path.stem}": path for name, folder in innermost.items() for path in sorted(folder.glob("*.txt"))}
