"""Model folders: what was trained, from what, on what, with the parameters.

model.json        what it is, written last: a folder without it is not finished
weights.npz       the parameters of the numeric backends; of a language model adapter.safetensors, head.safetensors, or
                  network.safetensors where it is trained along with the head
training.jsonl    one line per epoch, update or step, flushed at once
checkpoint-N/     where training goes on after a kill
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iad_policy.errors import IADError
from iad_policy.trained.backends import Backend, load_backend
from iad_policy.trained.heads import Head

MODEL = "model.json"
TRAINING = "training.jsonl"
EPOCHS = "epochs.json"
"""The epochs of a language model, whose lines in `training.jsonl` are steps."""
ROUNDS = "rounds.json"
"""What `iad train improve` writes beside the models of its rounds."""
SIMULATOR = "simulator"
"""The recipe of simulators. Its models predict types of outcomes."""
KINDS: Mapping[Head, str] = {
    "policy": "a policy (bc, rft, dpo, eto)",
    "value": "a value model (qnet)",
    "attempt": "an evaluator of attempts (evaluator)",
}
"""Head -> what it is, with the recipes that train it."""
HOW: Mapping[str, str] = {
    "policy": "bc RUN",
    "value": "qnet RUN",
    "attempt": "evaluator RUN",
    SIMULATOR: "simulator OUTCOMES --env ENV",
}
"""Head, or the recipe of a simulator -> what an error recommends to train it with."""
FORMAT = 1


class ModelFolderError(IADError, ValueError):
    """A folder holds no trained model, or not the one that was expected."""


@dataclass(frozen=True)
class Model:
    """A trained model.

    Attributes:
        folder: Its folder.
        facts: The content of `model.json`: `format recipe options head backend env seed trained_on`.
        backend: The parameters.
    """

    folder: Path
    facts: Mapping[str, Any]
    backend: Backend

    @property
    def identity(self) -> str:
        """A text that changes whenever an output does."""
        return f"{self.facts['recipe']} {self.backend.identity}"

    @property
    def trained_on(self) -> Mapping[str, Any]:
        """What it was trained on."""
        found: Mapping[str, Any] = self.facts["trained_on"]
        return found


def load_model(folder: Path | str, *, head: Head | None = None, env: str = "", recipe: str = "") -> Model:
    """Return a trained model.

    Args:
        folder: Its folder.
        head: The kind that is needed, if it matters.
        env: The environment's id that it is for, if it matters.
        recipe: The recipe that trained it, if it matters.

    Raises:
        ModelFolderError: There is none, training has not ended, or it is another one.
    """
    path = Path(folder)
    try:
        facts = json.loads((path / MODEL).read_text(encoding="utf-8"))
        version = facts["format"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelFolderError(
            f"expected the folder of a trained model, got {path} ({type(error).__name__}: {error!s:.100}); train one: "
            f"iad train {HOW[recipe or head or 'policy']} --out {path}"
        ) from error
    if version != FORMAT:
        raise ModelFolderError(
            f"expected a model of format {FORMAT}, got one of format {version!r} in {path}; train it again with this "
            "version"
        )
    if (facts["recipe"] == SIMULATOR) != (recipe == SIMULATOR):
        wanted = "a simulator (iad train simulator)" if recipe == SIMULATOR else "a policy or a value model"
        raise ModelFolderError(f"expected {wanted}, got what {facts['recipe']} trained in {path}")
    if head is not None and facts["head"] != head:
        raise ModelFolderError(f"expected {KINDS[head]}, got what {facts['recipe']} trained in {path}")
    if env and facts["env"] != env:
        raise ModelFolderError(f"expected a model of {env}, got one of {facts['env']} in {path}; train one there")
    options = facts.get("backend_options", {})
    if "kind" in options:  # which names a class, and the folder may be somebody else's
        raise ModelFolderError(f"expected a model that iad trained, got one in {path} that names a class of its own")
    backend = load_backend(facts["backend"], facts["env"], facts["head"], **options)
    backend.load(path)
    if backend.identity != facts["identity"]:
        raise ModelFolderError(
            f"expected the parameters that {MODEL} names in {path}, got others: they are damaged, or the environment's "
            "features changed since; train it again"
        )
    return Model(path, facts, backend)
