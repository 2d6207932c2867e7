"""What belongs to `IAD/BFCL-v0` and `IAD/ACEBench-v0`: a proxy verifier, features, mistakes, and words for a model."""

from dataclasses import replace
from pathlib import Path

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
    failing="iad_envs.toolcalls.policy.mistakes:failing_responses",
    stand_ins=("reply[That is all done.]", "[nothing_such()]", "nothing such", "[]"),
)
ACEBENCH = replace(
    BFCL,
    name="acebench",
    prompts=(PROMPTS / "acebench", PROMPTS),
    modes=dict.fromkeys(
        (  # categories that want one answer
            *("normal", "special", "special_incomplete", "special_error_param", "special_irrelevant"),
            *("normal_single_turn_single_function", "normal_single_turn_parallel_function", "normal_similar_api"),
            *("normal_multi_turn_user_switch", "normal_multi_turn_user_adjust", "normal_preference"),
            *("normal_atom_bool", "normal_atom_enum", "normal_atom_number", "normal_atom_list"),
            *("normal_atom_object_deep", "normal_atom_object_short"),
        ),
        Mode((PROMPTS / "acebench" / "answer",)),
    ),
    mode_argument="category",
)
