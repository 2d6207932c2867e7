"""What belongs to `IAD/BFCL-v0` and `IAD/ACEBench-v0`: agents, a proxy verifier, features, and words for a model."""
