"""Gymnasium environments `IAD/...`."""
