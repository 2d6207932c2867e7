"""The online shop as environments: as text, and in a real browser."""
