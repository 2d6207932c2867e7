"""What belongs to `IAD/BFCL-v0` and `IAD/ACEBench-v0`: a proxy verifier, features, mistakes, and words for a model."""

from dataclasses import replace
from pathlib import Path

from iad_envs.toolcalls.acebench.checkout import NORMAL, SPECIAL
from iad_policy.registry.domain import Domain, Mode

PROMPTS = Path(__file__).parent / "prompts"
BFCL = Domain(
    name="bfcl",
    group="tool",
    agent="solution:0.3",
    verifier="iad_envs.toolcalls.policy.verifier:CallVerifier",
    rendering="iad_envs.toolcalls.policy.rendering:ToolCallRendering",
    prompts=(PROMPTS,),
    language="iad_envs.toolcalls.policy.language_agent:ToolCallLanguageAgent",
    features="iad_envs.toolcalls.policy.features:CallFeatures",
    mistakes="iad_envs.toolcalls.policy.mistakes:wrong_response",
    stand_ins=("reply[That is all done.]", "[nothing_such()]", "nothing such", "[]"),
)
ACEBENCH = replace(
    BFCL,
    name="acebench",
    prompts=(PROMPTS / "acebench", PROMPTS),
    modes=dict.fromkeys(("normal", *NORMAL, "special", *SPECIAL), Mode((PROMPTS / "acebench" / "answer",))),
    mode_argument="category",
)
