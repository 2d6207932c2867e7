"""`IAD/BIRD-v0`: text-to-SQL on real databases. The environment is in `env`, the scores in `scoring`."""
