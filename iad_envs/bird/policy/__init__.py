"""What belongs to `IAD/BIRD-v0`: a proxy verifier, and words for a language model."""

from pathlib import Path

from iad_policy.registry.domain import Domain, Mode

PROMPTS = Path(__file__).parent / "prompts"
DOMAIN = Domain(
    name="bird",
    group="tool",
    agent="",
    model_s=3.0,  # a query: twelve tasks with five queries each take three minutes
    verifier="iad_envs.bird.policy.verifier:BirdVerifier",
    rendering="iad_envs.bird.policy.rendering:DatabaseRendering",
    prompts=(PROMPTS,),
    reading="sql",
    modes={"answer": Mode((PROMPTS / "answer",), "iad_envs.bird.policy.rendering:AnswerRendering")},
    stand_ins=("execute[SELECT 1]", "execute[SELECT nothing]", "execute[SELECT 1 FROM none]", "submit[SELECT 2]"),
    development="validation",
    tested="dev",
    predictions="iad_envs.bird.predictions:BirdPredictions",
)
