"""Answers the requests of a strategy: driver, answerer, batches of work, and the state of an episode."""
