"""What the policy side knows of the elevator. Nothing here imports `scoring`."""

from pathlib import Path

from iad_policy.registry.domain import Domain

DOMAIN = Domain(
    name="elevator",
    agent="operator",
    agents={"operator": "iad_elevator.policy.agent:ElevatorAgent"},
    verifier="iad_elevator.policy.verifier:ElevatorVerifier",
    prompts=(Path(__file__).parent / "prompts",),
    features="iad_elevator.policy.features:ElevatorFeatures",
    stand_ins=("go[1]", "go[nowhere]", "unload[parcel]"),
)
