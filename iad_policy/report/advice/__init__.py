"""Says from a small run whether checking candidates is worth it here, with which method, and with how many proposals.

`pilot` reads the run, `within` says what smaller n would have given, `prediction` what any n would
give, and `choice` which method to take at which price. None of them asks an agent or a model.
"""

from iad_policy.report.advice.choice import Advice, AdviceSettings, advise

__all__ = ["Advice", "AdviceSettings", "advise"]
