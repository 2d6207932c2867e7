"""Gold: the scores of single questions and of conversations, official and sound."""
