"""What belongs to `IAD/InterCodeBash-v0`: a proxy verifier, what it reads, and words for a language model."""

from pathlib import Path

from iad_policy.registry.domain import Domain

DOMAIN = Domain(
    name="intercode-bash",
    group="tool",
    agent="",
    model_s=20.0,  # six or seven commands
    verifier="iad_envs.bash.policy.verifier:BashVerifier",
    rendering="iad_envs.bash.policy.rendering:ShellRendering",
    prompts=(Path(__file__).parent / "prompts",),
    reading="shell",
    solution="iad_envs.bash.policy.solution:command",
    stand_ins=("ls", "cat /missing", "nothing-such", "submit"),
)
