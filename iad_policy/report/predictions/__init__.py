"""Scores what others have predicted: their answers and their recorded actions get our metrics, without an agent.

`scored_files` scores attempts (`ledger.predictions`), by the rules of their field or by replaying them in the
environment, and `scoring` makes the figures.
"""
