"""Gold: the scores of normal, special and agent tasks, official and sound."""
