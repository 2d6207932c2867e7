"""What belongs to `IAD/Booking-v0`: a rule-based agent, a proxy verifier, a judge, features, and what they read."""

from pathlib import Path

from iad_policy.registry.domain import Domain

DOMAIN = Domain(
    name="booking",
    group="web",
    agent="booker",
    agents={"booker": "iad_envs.booking.policy.agent:BookingAgent"},
    verifier="iad_envs.booking.policy.verifier:BookingVerifier",
    rendering="iad_envs.booking.policy.rendering:BookingRendering",
    prompts=(Path(__file__).parent / "prompts",),
    reading="page",
    features="iad_envs.booking.policy.features:BookingFeatures",
    solution="iad_envs.booking.policy.solution:reservation",
    stand_ins=("CLICK [home]", "CLICK [nothing]", "GOTO [/mine]", "ASK USER HELP [Is that right?]"),
)
