"""Schema linking without a model: it turns a question and a schema into a query, for the agent of `IAD/BIRD-v0`.

`question` parses the question, evidence and schema. `grounding` links words to columns and conditions. `forms` finds
the kind of query for a wording. `query` represents it in parts that can be exchanged.
"""

from pathlib import Path

from iad_policy.registry.domain import Domain, Mode

PROMPTS = Path(__file__).parent / "prompts"
DOMAIN = Domain(
    name="bird",
    group="tool",
    agent="linker",
    agents={"linker": "iad_envs.bird.policy.agent:BirdAgent"},
    verifier="iad_envs.bird.policy.verifier:BirdVerifier",
    rendering="iad_envs.bird.policy.rendering:DatabaseRendering",
    prompts=(PROMPTS,),
    reading="sql",
    features="iad_envs.bird.policy.features:QueryFeatures",
    modes={"answer": Mode((PROMPTS / "answer",), "iad_envs.bird.policy.rendering:AnswerRendering")},
    stand_ins=("execute[SELECT 1]", "execute[SELECT nothing]", "execute[SELECT 1 FROM none]", "submit[SELECT 2]"),
    development="validation",
    tested="dev",
    predictions="iad_envs.bird.predictions:BirdPredictions",
)
