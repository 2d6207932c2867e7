"""Data to learn from, computed from search trees."""
