"""Writes and reads the run folder. The answer log is its primary record (contract 4 in docs/design.md)."""
