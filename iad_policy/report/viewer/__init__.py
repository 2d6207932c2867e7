"""The page on which people read runs and trainings: the same one as a file (`report.py`) and over HTTP (`iad view`)."""
