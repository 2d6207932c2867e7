"""The online shop environments: as text, and in a real browser."""
