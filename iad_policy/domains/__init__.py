"""One folder per environment: its rule-based agent, its proxy verifier, and the reading code that both share.

Nothing here knows gold: it reads what an agent may see.
"""
