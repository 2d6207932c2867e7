"""Words that stand for components, and roles, wherever they are named."""

PATTERN = "[...]"
"""How an available action ends that is a pattern."""
ROLES = ("critic", "judge", "ranker", "evaluator", "summariser", "reflector", "paraphraser")
"""Those that `Ask` may name."""
NO_VERIFIER = "none"
"""Stands for no verifier. Strategies that ask for verdicts then refuse to run."""
PERFECT = "perfect"
"""The simulator that is the environment itself."""
NO_COMPLAINT = "No complaint; look once more at the task."
"""The critic's text about a candidate whose verdict has no critique. It names no error."""
