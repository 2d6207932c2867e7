"""How an action is chosen: agents, verifiers, strategies, and how that is measured."""
