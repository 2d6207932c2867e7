"""One folder per environment: its rule-based agent, its proxy verifier, and the reading code that both share.

This code reads only what an agent may see, never gold.
"""
