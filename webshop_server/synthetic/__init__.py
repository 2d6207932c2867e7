"""Synthetic catalogues of any size in the official format."""
