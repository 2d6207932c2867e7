"""The run folder: everything that writes or reads it. The answer log is its truth (contract 4 in docs/design.md)."""
