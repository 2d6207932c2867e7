"""A site for booking tables in restaurants as environments: as text, and in a real browser."""
