"""Reads what others have recorded: prediction files, and the actions of episodes.

`json_items` reads JSON and names what it can't read, `prediction_files` turns it into attempts at tasks, by the file
format of an environment's field (`formats`).
"""
