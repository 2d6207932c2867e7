"""Sketches: rule-based agent, agent for models that see, proxy verifier, and how sketches are read."""
