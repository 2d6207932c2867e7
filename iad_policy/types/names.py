"""Words that stand for components, roles and languages of actions, wherever they are named."""

from typing import Literal

OURS = ("iad_policy", "iad_envs", "webshop_server")
"""The packages of this project. Code of any other is its user's."""
PATTERN = "[...]"
"""How an available action ends that is a pattern."""
ROLES = ("critic", "judge", "ranker", "evaluator", "summariser", "reflector", "paraphraser")
"""Those that `Ask` may name."""
SIMULATOR = "simulator"
"""The role that is charged for simulations by a simulator. The environment's own are charged to the agent."""
NO_VERIFIER = "none"
"""Stands for no verifier. Strategies that ask for verdicts then refuse to run."""
PERFECT = "perfect"
"""The simulator that is the environment itself."""
NO_COMPLAINT = "No complaint; look once more at the task."
"""The critic's text about a candidate whose verdict has no critique. It names no error."""
CUT_OFF = "length"
"""Why an answer ended that reached a limit of its length: `max_tokens`, or the longest that is kept."""
TRAIN = "train"
"""The split of the tasks to learn from."""
SPARSITY = ("none", "low", "medium", "high")
"""Levels of the verifier `sparse:<level>`."""
Syntax = Literal["text", "shell", "sql", "page"]
"""Language of the actions that a model writes.

`shell` for commands, `sql` where `name[...]` takes a query, `page` for Agent Q's browser, `text` for anything else.
"""
