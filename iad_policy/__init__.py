"""Chooses actions and measures the result: agents, verifiers, strategies, and the wrapper that runs them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from iad_policy.budget import Budget
    from iad_policy.evaluation import evaluate
    from iad_policy.requests import All, Ask, Commit, Keep, Propose, Simulate, Verify
    from iad_policy.strategies import per_step
    from iad_policy.types import Agent, Candidate, Decision, Feedback, Outcome, State, Usage, Verdict, Verifier
    from iad_policy.types.call_context import report_usage
    from iad_policy.wrapper import IADPolicyWrapper
else:

    def __getattr__(name: str) -> Any:
        """Import a public name when somebody asks for it, as `iad --help` needs none of them."""
        if name in __all__:
            for home in ("types", "types.call_context", "requests", "budget", "strategies", "wrapper", "evaluation"):
                module = import_module(f"iad_policy.{home}")
                if hasattr(module, name):
                    return getattr(module, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
