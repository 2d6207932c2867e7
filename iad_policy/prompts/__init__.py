"""Prompts: text files, one per role, with `$placeholders`.

A file is a system message, a line of three dashes, and a user message. It goes from what never changes to what changes
last: the system message, the environment, the task, notes, the turns so far, what is seen now, and the question. So a
server that keeps the beginnings of prompts reads little again from turn to turn, and from a proposal to its refinement.

The roles' files are in `any/`. What an environment has of its own are parts that these files include (its rules, a
worked example, what makes an action good ...), or a role's whole file. They lie in the folders that its `Domain` names;
a file that is missing there is taken from `any/`. A mode of the environment may have a folder that goes first, and so
may you: `Prompts(Path("mine"), *domain_of(env).prompts)`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from string import Template
from typing import NamedTuple

import gymnasium as gym

from iad_policy.errors import UnknownName
from iad_policy.prompts.feedback import all_failed, is_hint, tells_results
from iad_policy.prompts.rendering import Rendering
from iad_policy.registry import load_object
from iad_policy.registry.domain import ANY_RENDERING, Domain, Mode, domain_of
from iad_policy.types import INSTRUCTIONS, Feedback
from iad_policy.types.hashing import digest

ANY = Path(__file__).parent / "any"
INCLUDED = re.compile(r"(?<!\$)\$([a-z_]+)")

WORDS: Mapping[bool, Mapping[str, str]] = {
    False: {
        "attempts": "this",
        "all": "it",
        "best": "what you proposed",
        "unless": "Only if you are sure that it is right, repeat it exactly.",
        "avoid": "",
    },
    True: {
        "attempts": "these",
        "all": "all of them",
        "best": "the best of them",
        "unless": "Only if you are sure that one of them is right, repeat that one exactly.",
        "avoid": " and avoid the mistakes of the worst",
    },
}
"""Words of a refinement: for one earlier proposal, and for several."""
_STATE = frozenset(
    {"environment", "instruction", "task", "notes", "history", "observation", "actions", "facts", "steps_left"}
)
_ACTING = _STATE | {"refine", "answer_format"}
PLACEHOLDERS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("actor_direct", "actor_cot", "actor_react", "actor_few-shot", "actor_tool", "plan"), _ACTING),
    **dict.fromkeys(("actor_choose", "actor_prompting", "actor_fc"), _ACTING),
    **dict.fromkeys(("actor_composite-first", "actor_composite"), _ACTING),
    "actor_plan-solve": _ACTING | {"plan", "plan_step"},
    "refine": frozenset({"feedback", "attempts", "reflect", "instruct"}),
    **dict.fromkeys((f"instruct_{name}" for name in INSTRUCTIONS if name != "none"), frozenset(WORDS[False])),
    "reask": frozenset({"wanted", "got"}),
    "score": _STATE | {"candidate"},
    "finalise": _STATE | {"candidate"},
    "compare": _STATE | {"first", "second"},
    **dict.fromkeys(("critic", "judge", "ranker", "evaluator", "summariser"), _STATE | {"subject"}),
    **dict.fromkeys(("reflector", "paraphraser", "simulator", "simulator_trained"), _STATE | {"subject"}),
}
"""Role -> placeholders that its file may use, besides those of the parts."""

CHANGED_PARTS: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "example_bare": ("example", lambda text: re.sub(r"^Thought: .*\n?", "", text, flags=re.MULTILINE)),
    "example_command": ("example", lambda text: text.replace("\nAction: ", "\nCommand: ")),
}
"""Placeholder -> the file of the part that it is made of, and how."""
PARTS = frozenset(
    {"rules", "rules_fc", "form", "thought", "example", "examples", "criteria", "check", "reflection", "sample"}
    | {"expected", "proposal", *CHANGED_PARTS}
)
"""Placeholders of parts, which may be missing. Their files have the same names.

- rules: what the environment is, and what its actions do; said to agents and judges alike. rules_fc: the same for
  models that call functions through their own interface.
- form: the forms of actions. thought: what a thought is about.
- example: a worked example; `_bare` without its thoughts, `_command` for answers with a command.
- examples: further examples, for the style few-shot.
- criteria: what makes an action good or bad, for judges.
- check, reflection, proposal: for a refinement, what to check in any case, what results mostly mean, and what to do.
- sample: what the environment shows, word for word, for a simulator.
- expected: what an answer must have, for the error of one that can't be read; by default a line with the action.
"""


class Prompt(NamedTuple):
    """A rendered prompt. Without a separator in the file, `system` is empty."""

    system: str
    user: str

    def messages(self) -> tuple[dict[str, str], ...]:
        """Return the prompt as messages."""
        system = [{"role": "system", "content": self.system}] if self.system else []
        return (*system, {"role": "user", "content": self.user})


class Prompts:
    """The prompt files of one environment, and the words for its states.

    Args:
        folders: Folders of prompts, such as those of a `Domain`, or your own before them. A file is taken from the
            first that has it, else from `any/`.
        rendering: The words for the environment's states, as "module:Class".

    Raises:
        UnknownName: There is no such folder.
    """

    def __init__(self, *folders: Path, rendering: str = ANY_RENDERING) -> None:
        for folder in folders:
            if not folder.is_dir():
                raise UnknownName("folder of prompts", str(folder), map(str, folder.parent.glob("*/")))
        self.folders = (*folders, ANY)
        self._rendering = rendering
        self._texts: dict[str, str] = {}

    @cached_property
    def rendering(self) -> Rendering:
        """The words for the environment's states."""
        made: Rendering = load_object(self._rendering)()
        return made

    def render(self, role: str, **values: str) -> Prompt:
        """Return a role's prompt with its parts included and its placeholders filled in.

        Raises:
            UnknownName: There is no such role.
            ValueError: The file has a placeholder that the role doesn't know, or a single `$`.
        """
        system, separator, user = self._text(role).partition("\n---\n")
        try:
            if not separator:
                return Prompt("", _filled(system, values))
            return Prompt(_filled(system, values), _filled(user, values))
        except (KeyError, ValueError) as error:
            known = ", ".join(f"${name}" for name in (*sorted(PLACEHOLDERS[role]), *sorted(PARTS)))
            raise ValueError(
                f"expected {self._path(role)} and its parts to use no placeholders but {known}, got {error}; write $$ "
                "for a dollar sign"
            ) from error

    def refinement(self, feedback: Feedback) -> str:
        """Return the block that asks for another proposal, in words that fit what the feedback shows.

        Raises:
            UnknownName: There is no such instruction.
        """
        told = self.rendering.told(feedback)
        if is_hint(feedback):  # it says what to mind, and needs no words around it
            return told
        if feedback.instruction not in INSTRUCTIONS:
            raise UnknownName("instruction", feedback.instruction, INSTRUCTIONS)
        words = {**WORDS[len(feedback.attempts) > 1], **({"unless": ""} if all_failed(feedback) else {})}
        role = f"instruct_{feedback.instruction}"
        instruct = self.render(role, **words).user.strip() if role in PLACEHOLDERS else ""
        reflect = self.part("reflection") if tells_results(feedback) else ""
        attempts = words["attempts"]
        return self.render("refine", feedback=told, attempts=attempts, reflect=reflect, instruct=instruct).user.strip()

    def part(self, name: str) -> str:
        """Return a part's text, "" if the environment has none."""
        file, changed = CHANGED_PARTS.get(name, (name, str))
        path = self._found(file)
        return "" if path is None else changed(_read(path).strip()).strip()

    def digest(self, roles: Sequence[str]) -> str:
        """Return a digest of these roles' texts, with their parts, for the key of an episode."""
        asked = [role for role in PLACEHOLDERS if role.startswith("instruct_") and "refine" in roles]
        return digest(*((role, self._text(role)) for role in (*roles, *asked)))

    def _text(self, role: str) -> str:
        """Return a role's text with its parts, whose own placeholders are filled in with the role's."""
        if role not in self._texts:
            text = _read(self._path(role))
            self._texts[role] = INCLUDED.sub(lambda name: self.part(name[1]) if name[1] in PARTS else name[0], text)
        return self._texts[role]

    def _path(self, role: str) -> Path:
        if role not in PLACEHOLDERS:
            raise UnknownName("prompt", role, PLACEHOLDERS)
        found = self._found(role)
        assert found is not None, role
        return found

    def _found(self, name: str) -> Path | None:
        return next((path for folder in self.folders if (path := folder / f"{name}.txt").is_file()), None)


def prompts_of(env: gym.Env[object, object]) -> Prompts:
    """Return the prompts of an environment, in its mode."""
    own = domain_of(env)
    return domain_prompts(own, str(getattr(env.unwrapped, own.mode_argument, "")))


def domain_prompts(own: Domain, mode: str = "") -> Prompts:
    """Return the prompts of a domain, in a mode of its environment; "" is the default."""
    differs = own.modes.get(mode, Mode())
    return Prompts(*differs.prompts, *own.prompts, rendering=differs.rendering or own.rendering)


@cache
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Fill in the placeholders, and drop the paragraphs that are then empty."""
    paragraphs = [Template(paragraph).substitute(values).strip("\n") for paragraph in text.strip().split("\n\n")]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph.strip())
