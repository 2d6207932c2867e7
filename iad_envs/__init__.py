"""Gymnasium environments `IAD/...`. Import this package, or use `gym.make("iad_envs:IAD/WebShop-v0")`."""

from collections.abc import Mapping

from gymnasium.envs.registration import register

ENTRY_POINTS: Mapping[str, str] = {
    "IAD/WebShop-v0": "iad_envs.webshop.env:WebShopEnv",
    "IAD/WebShopBrowser-v0": "iad_envs.webshop.browser_env:WebShopBrowserEnv",
    "IAD/InterCodeBash-v0": "iad_envs.bash.env:BashEnv",
    "IAD/BIRD-v0": "iad_envs.bird.env:BirdEnv",
    "IAD/Sketch2Code-v0": "iad_envs.sketch2code.env:Sketch2CodeEnv",
    "IAD/Booking-v0": "iad_envs.booking.env:BookingEnv",
    "IAD/BookingBrowser-v0": "iad_envs.booking.browser_env:BookingBrowserEnv",
    "IAD/BFCL-v0": "iad_envs.toolcalls.bfcl.env:BFCLEnv",
    "IAD/ACEBench-v0": "iad_envs.toolcalls.acebench.env:ACEBenchEnv",
}
"""Id -> "module:Class"."""

for _name, _entry_point in ENTRY_POINTS.items():
    register(id=_name, entry_point=_entry_point)

ENVIRONMENTS = tuple(ENTRY_POINTS)
"""Registered ids."""

__all__ = ["ENVIRONMENTS"]
