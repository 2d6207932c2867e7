"""The page on which people read a run: the same one as a file (`report.py`) and over HTTP (`iad view`)."""
