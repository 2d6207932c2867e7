"""Defines the default agent, verifier and prompts of each environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym

from iad_policy.errors import NoProxyVerifier
from iad_policy.models.parsing import Syntax
from iad_policy.registry import load_object
from iad_policy.types import Verifier


@dataclass(frozen=True, slots=True)
class Defaults:
    """An environment's defaults.

    Attributes:
        agent: Name of the rule-based agent.
        proxy: The proxy verifier as "module:factory"; "" for none.
        prompts: Name of the folder in `iad_policy/prompts/`.
        mode_argument: The environment's argument, and attribute, that is its mode.
        mode_prompts: Folders for modes of the environment with prompts of their own, by the mode.
        stand_ins: Actions that have outcomes of different types in any state. Noisy simulators and their report use
            them.
        syntax: Language of the actions that a model writes.
        language: The class that `litellm:<model>` makes, as "module:Class".
        features: The features of its actions as "module:Class", for policies without a language model; "" for none.
        development: The split that chooses an epoch or a round.
        tested: The split that is measured, whose gold nothing reads but the result.
        predictions: The prediction files of its field as "module:Class"; "" for none. `iad score` also takes recorded
            actions.
    """

    agent: str = "random"
    proxy: str = ""
    prompts: str = "any"
    mode_argument: str = "mode"
    mode_prompts: Mapping[str, str] = field(default_factory=dict)
    stand_ins: tuple[str, ...] = ()
    syntax: Syntax = "text"
    language: str = "iad_policy.agents.language:LanguageAgent"
    features: str = ""
    development: str = "dev"
    tested: str = "test"
    predictions: str = ""

    def mode_of(self, env_args: Mapping[str, Any]) -> str:
        """Return the mode among an environment's arguments; "" for the default."""
        return str(env_args.get(self.mode_argument, ""))

    def prompts_in(self, mode: str) -> str:
        """Return the name of the prompts' folder for a mode of the environment; "" for one without modes."""
        return self.mode_prompts.get(mode, self.prompts)


SHOP = Defaults(
    "shopper",
    proxy="iad_envs.webshop.policy.verifier:WebShopVerifier",
    prompts="webshop",
    stand_ins=("click[nothing]", "search[gift]"),
    features="iad_envs.webshop.policy.features:ShopFeatures",
)

BOOKING = Defaults(
    "booker",
    proxy="iad_envs.booking.policy.verifier:BookingVerifier",
    prompts="booking",
    syntax="page",
    features="iad_envs.booking.policy.features:BookingFeatures",
    stand_ins=("CLICK [home]", "CLICK [nothing]", "GOTO [/mine]", "ASK USER HELP [Is that right?]"),
)

TOOL_CALLS = Defaults(
    "caller",
    proxy="iad_envs.toolcalls.policy.verifier:CallVerifier",
    prompts="toolcalls",
    language="iad_envs.toolcalls.policy.language_agent:ToolCallLanguageAgent",
    features="iad_envs.toolcalls.policy.features:CallFeatures",
    stand_ins=("reply[That is all done.]", "[nothing_such()]", "nothing such", "[]"),
)
ANSWERS = (
    *("normal", "special", "special_incomplete", "special_error_param", "special_irrelevant"),
    *("normal_single_turn_single_function", "normal_single_turn_parallel_function", "normal_similar_api"),
    *("normal_multi_turn_user_switch", "normal_multi_turn_user_adjust", "normal_preference"),
    *("normal_atom_bool", "normal_atom_enum", "normal_atom_number", "normal_atom_list"),
    *("normal_atom_object_deep", "normal_atom_object_short"),
)
"""Categories of ACEBench that want one answer."""
PHONE = replace(
    TOOL_CALLS,
    prompts="toolcalls/acebench",
    mode_argument="category",
    mode_prompts=dict.fromkeys(ANSWERS, "toolcalls/acebench/answer"),
)

DEFAULTS = {
    "IAD/WebShop-v0": SHOP,
    "IAD/WebShopBrowser-v0": SHOP,
    "IAD/InterCodeBash-v0": Defaults(
        "scripter",
        proxy="iad_envs.bash.policy.verifier:BashVerifier",
        prompts="bash",
        syntax="shell",
        stand_ins=("ls", "cat /missing", "nothing-such", "submit"),
        features="iad_envs.bash.policy.features:ShellFeatures",
    ),
    "IAD/BIRD-v0": Defaults(
        "linker",
        proxy="iad_envs.bird.policy.verifier:BirdVerifier",
        prompts="bird",
        syntax="sql",
        mode_prompts={"answer": "bird/answer"},
        stand_ins=("execute[SELECT 1]", "execute[SELECT nothing]", "execute[SELECT 1 FROM none]", "submit[SELECT 2]"),
        features="iad_envs.bird.policy.features:QueryFeatures",
        development="validation",
        tested="dev",
        predictions="iad_envs.bird.predictions:BirdPredictions",
    ),
    "IAD/Sketch2Code-v0": Defaults(
        "tracer",
        proxy="iad_envs.sketch2code.policy.verifier:Sketch2CodeVerifier",
        prompts="sketch2code",
        language="iad_envs.sketch2code.policy.language_agent:Sketch2CodeLanguageAgent",
        features="iad_envs.sketch2code.policy.features:PageFeatures",
        predictions="iad_envs.sketch2code.predictions:PagePredictions",
    ),
    "IAD/Booking-v0": BOOKING,
    "IAD/BookingBrowser-v0": BOOKING,
    "IAD/BFCL-v0": TOOL_CALLS,
    "IAD/ACEBench-v0": PHONE,
}


def defaults_of(env: gym.Env[Any, Any]) -> Defaults:
    """Return the defaults of an environment, by its id."""
    return defaults_by_id(env_id(env))


def defaults_by_id(id: str) -> Defaults:
    """Return the defaults of an environment with an id without its module."""
    return DEFAULTS.get(id, Defaults())


def env_id(env: gym.Env[Any, Any]) -> str:
    """Return an environment's id without its module, or its class name if it has no id."""
    return type(env.unwrapped).__name__ if env.spec is None else env.spec.id.rpartition(":")[2]


def proxy_verifier(env: gym.Env[Any, Any]) -> Verifier:
    """Return the environment's proxy verifier, which scores the outcome of an action by rules, without gold.

    Raises:
        NoProxyVerifier: The environment has none.
    """
    path = defaults_of(env).proxy
    if not path:
        raise NoProxyVerifier(env_id(env))
    made: Verifier = load_object(path)(env)
    return made
