"""What an observation says, read without gold: shared by an environment's keyless agent and its proxy verifier."""
