"""Gymnasium environments `IAD/...`. Import this package, or use `gym.make("iad_envs:IAD/WebShop-v0")`."""

from gymnasium.envs.registration import register

register(id="IAD/WebShop-v0", entry_point="iad_envs.webshop.env:WebShopEnv")
register(id="IAD/WebShopBrowser-v0", entry_point="iad_envs.webshop.browser_env:WebShopBrowserEnv")
register(id="IAD/InterCodeBash-v0", entry_point="iad_envs.bash.env:BashEnv")
register(id="IAD/BIRD-v0", entry_point="iad_envs.bird.env:BirdEnv")
register(id="IAD/Sketch2Code-v0", entry_point="iad_envs.sketch2code.env:Sketch2CodeEnv")

ENVIRONMENTS = (
    "IAD/WebShop-v0",
    "IAD/WebShopBrowser-v0",
    "IAD/InterCodeBash-v0",
    "IAD/BIRD-v0",
    "IAD/Sketch2Code-v0",
)
"""Ids of the registered environments."""

__all__ = ["ENVIRONMENTS"]
