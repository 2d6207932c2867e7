"""Reads the parts of answers in words: fields, choices, and reasoning in tags. No model is needed for it."""
