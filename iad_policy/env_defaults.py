"""Which agent, verifier and prompts an environment gets when nothing else is asked for."""

from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from iad_policy.errors import UnknownName
from iad_policy.registry import load_object
from iad_policy.types import Verifier


@dataclass(frozen=True, slots=True)
class Defaults:
    """An environment's defaults.

    Attributes:
        agent: The rule-based agent's name.
        proxy: Its proxy verifier, as "module:factory".
        prompts: The folder in `iad_policy/prompts/`.
        stand_ins: Actions with outcomes of several types in any state, for simulators that err and for their report.
        language: What `litellm:<model>` makes, as "module:Class", where answers need reading of their own.
    """

    agent: str = "random"
    proxy: str = ""
    prompts: str = "any"
    stand_ins: tuple[str, ...] = ()
    language: str = "iad_policy.agents.language:LanguageAgent"


SHOP = Defaults(
    "shopper",
    proxy="iad_policy.domains.webshop.verifier:WebShopVerifier",
    prompts="webshop",
    stand_ins=("click[nothing]", "search[gift]"),
)

DEFAULTS = {
    "IAD/WebShop-v0": SHOP,
    "IAD/WebShopBrowser-v0": SHOP,
    "IAD/InterCodeBash-v0": Defaults(
        "scripter",
        proxy="iad_policy.domains.bash.verifier:BashVerifier",
        prompts="bash",
        stand_ins=("ls", "cat /missing", "nothing-such", "submit"),
    ),
    "IAD/BIRD-v0": Defaults(
        "linker",
        proxy="iad_policy.domains.bird.verifier:BirdVerifier",
        prompts="bird",
        stand_ins=("execute[SELECT 1]", "execute[SELECT nothing]", "execute[SELECT 1 FROM none]", "submit[SELECT 2]"),
    ),
    "IAD/Sketch2Code-v0": Defaults(
        "tracer",
        proxy="iad_policy.domains.sketch2code.verifier:Sketch2CodeVerifier",
        prompts="sketch2code",
        language="iad_policy.domains.sketch2code.language_agent:Sketch2CodeLanguageAgent",
    ),
}


def defaults_of(env: gym.Env[Any, Any]) -> Defaults:
    """Return the defaults of an environment, by its id."""
    return DEFAULTS.get(env_id(env), Defaults())


def env_id(env: gym.Env[Any, Any]) -> str:
    """Return an environment's id, without the module to import; its class's name where it was made without one."""
    return type(env.unwrapped).__name__ if env.spec is None else env.spec.id.rpartition(":")[2]


def proxy_verifier(env: gym.Env[Any, Any]) -> Verifier:
    """Score by the environment's own rules, without gold: they look at what an action leads to.

    Raises:
        UnknownName: It has none.
    """
    path = defaults_of(env).proxy
    if not path:
        raise UnknownName(
            "verifier",
            f"proxy of {env_id(env)}",
            [f"proxy of {name}" for name, own in DEFAULTS.items() if own.proxy],
        )
    made: Verifier = load_object(path)(env)
    return made
