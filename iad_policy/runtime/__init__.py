"""Answers the requests of a strategy: the driver, the answerer, batches of work, and the state of an episode."""
