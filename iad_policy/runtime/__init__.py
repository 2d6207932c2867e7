"""The one machine that answers a strategy's requests: driver, answerer, batches of work, and the state of an episode."""
