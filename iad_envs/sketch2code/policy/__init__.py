"""Sketches: agent for models with vision, proxy verifier, and the code that reads sketches."""

from pathlib import Path

from iad_policy.registry.domain import A_SEEING_MODEL, Domain

DOMAIN = Domain(
    name="sketch2code",
    group="web",
    agent="",
    advised=A_SEEING_MODEL,
    verifier="iad_envs.sketch2code.policy.verifier:Sketch2CodeVerifier",
    verifiers={
        "reference": "iad_envs.sketch2code.policy.verifier:reference_verifier",
        "page-judge": "iad_envs.sketch2code.policy.verifier:page_judge",
    },
    critics={"reference": "iad_envs.sketch2code.policy.critic:reference_critic"},
    rendering="iad_envs.sketch2code.policy.rendering:SketchRendering",
    prompts=(Path(__file__).parent / "prompts",),
    language="iad_envs.sketch2code.policy.language_agent:Sketch2CodeLanguageAgent",
    solution="iad_envs.sketch2code.policy.solution:page",
    predictions="iad_envs.sketch2code.predictions:PagePredictions",
)
