"""IAD against best-of-n at equal n, with a policy before and after it learned from IAD's own candidates."""

from iad_policy.papers import Claim, Laboratory, MeasuredArm, Paper


def stages(here: Laboratory) -> None:
    """Imitate ten demonstrations, then prefer what IAD committed to what it rejected."""
    here.trained("base", "bc", here.explored("demos", tasks=120, episodes=1, temperature=0.0), demos=10)
    decisions = here.explored("decisions", agent="base", how="iad", tasks=100, reward="proxy")
    here.trained("after-iad", "dpo", decisions, start="base", source="decisions")


def under(agent: str, strategy: str, n: int) -> MeasuredArm:
    """Return an arm with n proposals per decision."""
    return MeasuredArm(agent, strategy, {"n": n})


IAD = Paper(
    "Iterative agent decoding in the shop",
    "arXiv 2504.01931, versions 1 and 2",
    (
        "The policy is a model on features of the page. When it refines, it samples among the actions that it did not "
        "try yet, as it can't read feedback.",
        "The verifier is the proxy, which reads no gold.",
        "Learning from IAD's own candidates is not in the paper.",
    ),
    stages,
    {
        "single": MeasuredArm("base"),
        **{f"{name}, n = {n}": under("base", name, n) for name in ("bon", "iad") for n in (2, 4)},
        "after-iad": MeasuredArm("after-iad"),
        "after-iad, iad, n = 4": under("after-iad", "iad", 4),
    },
    (
        Claim("bon > single", "bon, n = 4", "single", "all tables"),
        Claim("T1 iad > bon, n = 4", "iad, n = 4", "bon, n = 4", "all tables"),
        Claim("T1 iad > bon, n = 2", "iad, n = 2", "bon, n = 2", "all tables"),
        Claim("learned from iad > single", "after-iad", "single", "not in the paper"),
        Claim("learned and iad > iad", "after-iad, iad, n = 4", "iad, n = 4", "not in the paper"),
    ),
)
