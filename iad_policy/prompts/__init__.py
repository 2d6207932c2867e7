"""Prompts: text files, one per environment and role, with `$placeholders`.

A file is a system message, a line of three dashes, and a user message. A role that is missing in an environment's
folder is taken from `any/`. A mode of an environment has a folder in the environment's, for the roles that differ. Your
own folder works the same way: pass its path instead of a folder's name.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import NamedTuple

import gymnasium as gym

from iad_policy.env_defaults import defaults_of
from iad_policy.errors import UnknownName
from iad_policy.hashing import digest

FOLDER = Path(__file__).parent
SEPARATOR = "---"

STATE_PLACEHOLDERS = frozenset({"instruction", "history", "observation", "actions", "facts", "notes", "steps_left"})
ACTOR_PLACEHOLDERS = STATE_PLACEHOLDERS | {"refine", "answer_format"}
CANDIDATE_PLACEHOLDERS = STATE_PLACEHOLDERS | {"candidate"}
PAIR_PLACEHOLDERS = STATE_PLACEHOLDERS | {"first", "second"}
ROLE_PLACEHOLDERS = STATE_PLACEHOLDERS | {"subject"}
PLACEHOLDERS = {
    "actor_direct": ACTOR_PLACEHOLDERS,
    "actor_cot": ACTOR_PLACEHOLDERS,
    "actor_react": ACTOR_PLACEHOLDERS,
    "actor_few-shot": ACTOR_PLACEHOLDERS,
    "actor_composite-first": ACTOR_PLACEHOLDERS,
    "actor_composite": ACTOR_PLACEHOLDERS,
    "plan": ACTOR_PLACEHOLDERS,
    "actor_plan-solve": ACTOR_PLACEHOLDERS | {"plan"},
    "refine": frozenset({"feedback"}),
    "score": CANDIDATE_PLACEHOLDERS,
    "finalise": CANDIDATE_PLACEHOLDERS,
    "compare": PAIR_PLACEHOLDERS,
    "critic": ROLE_PLACEHOLDERS,
    "judge": ROLE_PLACEHOLDERS,
    "ranker": ROLE_PLACEHOLDERS,
    "evaluator": ROLE_PLACEHOLDERS,
    "summariser": ROLE_PLACEHOLDERS,
    "reflector": ROLE_PLACEHOLDERS,
    "paraphraser": ROLE_PLACEHOLDERS,
    "simulator": ROLE_PLACEHOLDERS,
}
"""Role -> placeholders that its file may use."""


class Prompt(NamedTuple):
    """A rendered prompt. Without a separator in the file, `system` is empty."""

    system: str
    user: str

    def messages(self) -> tuple[dict[str, str], ...]:
        """Return the prompt as messages."""
        system = [{"role": "system", "content": self.system}] if self.system else []
        return (*system, {"role": "user", "content": self.user})


class Prompts:
    """The prompt files of one environment.

    Args:
        folder: The name of a folder in `iad_policy/prompts/`, such as `bird` or `bird/answer`, or the path of your own.

    Raises:
        UnknownName: There is no such folder.
    """

    def __init__(self, folder: str | Path = "any") -> None:
        self.folder = folder if isinstance(folder, Path) else FOLDER / folder
        if not self.folder.is_dir():
            known = [path.name for path in FOLDER.iterdir() if path.is_dir() and not path.name.startswith("_")]
            raise UnknownName("prompts folder", str(folder), [*known, "a pathlib.Path of your own"])

    def render(self, role: str, **values: str) -> Prompt:
        """Return a role's prompt with its placeholders filled in.

        Raises:
            UnknownName: There is no such role.
            ValueError: The file has a placeholder that the role doesn't know, or a single `$`.
        """
        path = self._path(role)
        system, separator, user = _read(path).partition(f"\n{SEPARATOR}\n")
        try:
            if not separator:
                return Prompt("", _filled(system, values))
            return Prompt(_filled(system, values), _filled(user, values))
        except (KeyError, ValueError) as error:
            known = ", ".join(f"${name}" for name in sorted(PLACEHOLDERS[role]))
            raise ValueError(
                f"expected {path} to use no placeholders but {known}, got {error}; write $$ for a dollar sign"
            ) from error

    def digest(self, roles: Sequence[str]) -> str:
        """Return a digest of these roles' texts, for the key of an episode."""
        return digest(*((role, _read(self._path(role))) for role in roles))

    def _path(self, role: str) -> Path:
        if role not in PLACEHOLDERS:
            raise UnknownName("prompt", role, PLACEHOLDERS)
        outer = [folder for folder in self.folder.parents if FOLDER in folder.parents]
        places = [folder / f"{role}.txt" for folder in (self.folder, *outer)]
        return next((place for place in places if place.is_file()), FOLDER / "any" / f"{role}.txt")


def prompts_of(env: gym.Env[object, object]) -> Prompts:
    """Return the prompts of an environment, in its mode."""
    return Prompts(defaults_of(env).prompts_in(str(getattr(env.unwrapped, "mode", ""))))


@cache
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Fill in the placeholders, and drop the paragraphs that are then empty."""
    paragraphs = [Template(paragraph).substitute(values).strip("\n") for paragraph in text.strip().split("\n\n")]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph.strip())
