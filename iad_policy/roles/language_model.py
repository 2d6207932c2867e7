"""A language model as critic, judge, ranker, evaluator, summariser, reflector and paraphraser."""

import re
from typing import Any

import gymnasium as gym

from iad_policy.errors import ModelError, UnknownName
from iad_policy.models import LanguageModel, Message, identity_of
from iad_policy.models.component import ModelComponent
from iad_policy.prompts import Prompts, prompts_of
from iad_policy.prompts.rendering import leaves
from iad_policy.types import Candidate, State
from iad_policy.types.answers import read_field
from iad_policy.types.names import ROLES


class ModelRoles(ModelComponent):
    """Answers `Ask` with a language model, with one prompt file per role.

    The ranker answers with the index of the best candidate, from 0, as `TemplateRoles` does. The others answer with the
    model's text.

    Args:
        model: A litellm name or an object with `complete`.
        prompts: An environment's prompt files.
        temperature: Sampling temperature of all roles but the paraphraser.
        max_tokens: Maximum length of an answer.
    """

    def __init__(
        self,
        model: str | LanguageModel,
        prompts: Prompts | None = None,
        *,
        temperature: float | None = 0.0,
        max_tokens: int | None = 512,
    ) -> None:
        super().__init__(model, temperature=temperature, max_tokens=max_tokens)
        self.source = self.model.name
        self._prompts = prompts or Prompts()

    @property
    def identity(self) -> str:
        """Everything its answers depend on."""
        return f"{identity_of(self.model)} roles prompts={self._prompts.digest(ROLES)} {self.sampling}"

    def answer(self, role: str, state: State, subject: Any) -> str:
        """Return the role's text.

        Raises:
            UnknownName: There is no such role.
            ModelError: The model could not answer, or the ranker named no candidate (`malformed`).
        """
        if role not in ROLES:
            raise UnknownName("role", role, ROLES)
        words = self._prompts.rendering
        prompt = self._prompts.render(role, subject=words.subject(state, subject), **words.values(state))
        if role != "ranker":
            # The paraphraser must not repeat itself (QLASS: 0.7-0.8).
            return self.complete(prompt.messages(), 0.7 if role == "paraphraser" else None).text.strip()
        n_candidates = sum(isinstance(part, Candidate) for part in leaves(subject))
        if n_candidates < 2:
            return "0"
        messages: tuple[Message, ...] = prompt.messages()
        text = ""
        n_tries = 3
        for _ in range(n_tries):
            text = self.complete(messages).text.strip()
            field = read_field(text, "best")
            numbers = {int(number) for number in re.findall(r"\d+", text if field is None else field)}
            if len(numbers) == 1 and 1 <= (number := numbers.pop()) <= n_candidates:
                return str(number - 1)
            complaint = f'Expected one line "Best: n" with a number from 1 to {n_candidates}. Answer again.'
            said = {"role": "assistant", "content": text or "(nothing)"}
            messages = (*messages, said, {"role": "user", "content": complaint})
        raise ModelError(
            f"expected {self.source} as ranker to name a candidate from 1 to {n_candidates}, got {text[:200]!r} "
            f"({n_tries} tries); use another model, or rank by the verifier",
            kind="malformed",
        )


def model_roles(env: gym.Env[Any, Any], model: str | LanguageModel, **options: Any) -> ModelRoles:
    """Return the roles for an environment, with its prompts."""
    return ModelRoles(model, prompts_of(env), **options)
