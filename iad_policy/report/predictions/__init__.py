"""Scores what others have predicted: their answers and their recorded actions get our metrics, without an agent.

`json_items` reads JSON and names what it can't read, `prediction_files` turns it into attempts at tasks, `scored_files`
scores them, by `replay` in the environment or by the rules of its field (`formats`), and `scoring` makes the figures.
"""
