"""Gone. Until 0.4 it says what to use instead."""

raise ImportError(
    'expected no iad_envs.webshop.vector_env, which is gone; gym.make_vec("IAD/WebShop-v0", num_envs=8) gives the same'
)
