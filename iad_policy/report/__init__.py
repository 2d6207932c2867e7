"""Explains runs: statistics, tables, curves, the viewer and the exports."""
