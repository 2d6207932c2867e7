"""Chooses actions and measures the result: agents, verifiers, strategies, and the wrapper that runs them."""

from iad_policy.budget import Budget
from iad_policy.evaluate import evaluate
from iad_policy.requests import All, Ask, Commit, Keep, Propose, Simulate, Verify
from iad_policy.strategies import per_step
from iad_policy.types import (
    Agent,
    Candidate,
    Decision,
    Feedback,
    Outcome,
    State,
    Usage,
    Verdict,
    Verifier,
)
from iad_policy.types.call_context import report_usage
from iad_policy.wrapper import IADPolicyWrapper

__all__ = [
    "Agent",
    "All",
    "Ask",
    "Budget",
    "Candidate",
    "Commit",
    "Decision",
    "Feedback",
    "IADPolicyWrapper",
    "Keep",
    "Outcome",
    "Propose",
    "Simulate",
    "State",
    "Usage",
    "Verdict",
    "Verifier",
    "Verify",
    "evaluate",
    "per_step",
    "report_usage",
]
