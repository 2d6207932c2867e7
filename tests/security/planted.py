"""An environment, an agent and a verifier of a careless user, that say the secrets of the process in all they say."""

import os
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from iad_envs.core import View
from iad_envs.spaces import UnicodeText
from iad_policy.agents.language import LanguageAgent
from iad_policy.models.litellm import LiteLLMModel
from iad_policy.types import Candidate, State, Verdict
from tests.iad_policy.evaluation_toy import DialsEnv

ID = "tests.security.planted:Planted/Dials-v0"
VARIABLES = {
    "OPENAI_API_KEY": "sk-planted-0openai-key",
    "ANTHROPIC_API_KEY": "sk-ant-planted-1-key",
    "HTTPS_PROXY": "http://planted2user:pl4nted2pass@proxy.example:8080",
    "PLANTED_PAGE_TOKEN": 'planted-3-"quo\\ted"-tökén',
    "JUDGE_SECRET": "planted-4-judge",
    "WHY_PASSWORD": "planted+5/why=&<pass>",
}
DSN = "postgresql://reader:planted6pass@127.0.0.1:1/bird?sslpassword=planted7pass"
ARGUMENT, HEADER, QUERY = "planted-8-argument", "planted-9-header", "planted-10-query"
PLANTED = (
    *(value for name, value in VARIABLES.items() if name != "HTTPS_PROXY"),
    *("pl4nted2pass", "planted6pass", "planted7pass", ARGUMENT, HEADER, QUERY),
)


class Leaky(DialsEnv):
    """Shows an address and a token on its pages, and says more where it fails."""

    def __init__(self, dsn: str = "", n_tasks: int = 6) -> None:
        super().__init__(n_tasks)
        self.dsn = dsn
        self.observation_space = UnicodeText(10_000)

    def _view(self, state: str, complaint: str) -> View:
        if self.dsn and state == "22":
            raise ConnectionError(f"connection to {self.dsn} failed: {self.dsn!r}")
        view = super()._view(state, complaint)
        credentials = b64encode(os.environ["HTTPS_PROXY"].partition("@")[0].rpartition("/")[2].encode()).decode()
        said = f"{os.environ['PLANTED_PAGE_TOKEN']} Basic {credentials} {os.environ['HTTPS_PROXY']}"
        return view._replace(observation=f"{view.observation} {said} {'filler ' * 200}", page={"said": said})

    def why_failed(self) -> str:
        return f"it does not know {os.environ['WHY_PASSWORD']}"


class Keyed(LanguageAgent):
    """Asks a server with a key of its own."""

    def __init__(self, env: Any, base: str, api_key: str | None = None) -> None:
        headers = {"x-api-key": HEADER, "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
        model = LiteLLMModel(
            "openai/toy", api_base=f"{base}?key={QUERY}", api_key=api_key, max_retries=0, extra_headers=headers
        )
        super().__init__(model, space=env.action_space, reask=0)


class Own:
    """Says a key in its thoughts and actions, and fails with it."""

    def __init__(self, env: Any, api_key: str = "") -> None:
        self.api_key = api_key

    def propose(self, state: State, **others: Any) -> Candidate:
        if "1" in state.info["instruction"]:
            raise RuntimeError(f"{'x' * 980}no luck with {os.environ['ANTHROPIC_API_KEY']} and {self.api_key}")
        return Candidate(f"turn[{state.info['instruction'][-1]}]", f"I use {self.api_key}")


class Strict:
    information = "proxy"
    needs_preview = True
    compares = False

    def __init__(self, env: Any) -> None:
        pass

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        raise RuntimeError(f"no judge for {os.environ['JUDGE_SECRET']}")


gym.register("Planted/Dials-v0", "tests.security.planted:Leaky")
