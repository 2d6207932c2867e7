"""How strategies are compared: the run folder, the runner, the statistics and the table."""
