"""Learning from runs: experience, objectives, recipes, backends, and the commands that explore, train and improve."""
