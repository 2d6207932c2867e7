"""Scores what others have predicted: their answers and their recorded actions get our metrics, without an agent.

`scored_files` scores attempts (`ledger.predictions`), by `replay` in the environment or by the rules of its field, and
`scoring` makes the figures.
"""
