"""Sketches: rule-based agent, agent for models with vision, proxy verifier, and the code that reads sketches."""
