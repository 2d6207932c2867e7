"""The shop: rule-based agent, proxy verifier, and the code with which both read instructions and pages."""

from pathlib import Path

from iad_policy.registry.domain import Domain

DOMAIN = Domain(
    name="webshop",
    group="web",
    agent="shopper",
    agents={"shopper": "iad_envs.webshop.policy.agent:WebShopAgent"},
    verifier="iad_envs.webshop.policy.verifier:WebShopVerifier",
    rendering="iad_envs.webshop.policy.rendering:ShopRendering",
    prompts=(Path(__file__).parent / "prompts",),
    features="iad_envs.webshop.policy.features:ShopFeatures",
    solution="iad_envs.webshop.policy.solution:purchase",
    stand_ins=("click[nothing]", "search[gift]"),
)
