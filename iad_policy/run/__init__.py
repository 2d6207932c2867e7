"""Runs comparisons of strategies: configuration, runner, workers, engines and experiment trackers."""
