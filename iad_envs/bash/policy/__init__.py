"""The shell: rule-based agent, proxy verifier, and the code with which both read instructions."""

from pathlib import Path

from iad_policy.registry.domain import Domain

DOMAIN = Domain(
    name="intercode-bash",
    group="tool",
    agent="scripter",
    agents={"scripter": "iad_envs.bash.policy.agent:BashAgent"},
    verifier="iad_envs.bash.policy.verifier:BashVerifier",
    rendering="iad_envs.bash.policy.rendering:ShellRendering",
    prompts=(Path(__file__).parent / "prompts",),
    reading="shell",
    features="iad_envs.bash.policy.features:ShellFeatures",
    solution="iad_envs.bash.policy.solution:command",
    stand_ins=("ls", "cat /missing", "nothing-such", "submit"),
)
