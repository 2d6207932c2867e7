"""The Berkeley Function Calling Leaderboard: its data, its simulated classes, and its two ways of checking."""
