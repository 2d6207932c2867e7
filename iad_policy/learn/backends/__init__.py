"""How each backend is trained: a file per kind, named in `iad_policy.learn.trainable.load_trainable`."""
