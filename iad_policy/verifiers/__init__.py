"""Verifiers score a candidate before it is committed.

To add one that any environment can have, write its file and name it in `VERIFIERS`. An environment adds its own by its
`Domain`. Your own is `module:object`: see docs/add-a-verifier.md.
"""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from iad_policy.registry import instantiate, load_object, load_own, with_defaults
from iad_policy.registry.domain import all_named, domain_by_id, find_named
from iad_policy.types import LoadedVerifier, Verifier
from iad_policy.types.information import require_label
from iad_policy.types.names import OURS

VERIFIERS: Mapping[str, str] = {
    "oracle": "iad_policy.verifiers.oracle:OracleVerifier",
    "proxy": "iad_policy.registry.domain:proxy_verifier",
    "judge": "iad_policy.verifiers.judge:judge",
    "pairwise": "iad_policy.verifiers.judge:pairwise_judge",
    "finalise": "iad_policy.verifiers.judge:finalising_judge",
    "qnet": "iad_policy.verifiers.qnet:QNetVerifier",
    "noisy": "iad_policy.verifiers.changed:noisy",
    "calibrated": "iad_policy.verifiers.changed:calibrated",
    "binary": "iad_policy.verifiers.changed:binary",
    "alone": "iad_policy.verifiers.changed:alone",
    "sparse": "iad_policy.verifiers.changed:sparse",
    "terminal-oracle": "iad_policy.verifiers.changed:terminal_oracle",
}
"""Name -> "module:factory". A factory is called with the environment and, for `name:argument`, the argument."""

WORDS_BEFORE_INNER = {"noisy": 1, "calibrated": 2, "binary": 0, "alone": 0, "sparse": 1, "terminal-oracle": 0}
"""Name of a verifier that changes another one's verdicts -> number of words between it and the other one's name."""


def is_known(name: str) -> bool:
    """Return whether a name stands for a verifier that a table or a domain names."""
    kind = name.partition(":")[0]
    return kind in VERIFIERS or bool(find_named("verifiers", kind))


def is_own(name: str, env: str) -> bool:
    """Return whether a name stands for a verifier of this project, also where it is one inside another.

    Args:
        name: Its name.
        env: Id of the environment. The proxy of somebody else's is somebody else's.
    """
    kind, *words = name.split(":")
    if kind in WORDS_BEFORE_INNER:
        return is_own(":".join(words[WORDS_BEFORE_INNER[kind] :]) or "proxy", env)
    domain = domain_by_id(env)
    path = domain.verifier if kind == "proxy" else VERIFIERS.get(kind) or domain.verifiers.get(kind, "")
    return path.partition(".")[0] in OURS


def load_verifier(verifier: str | Verifier, env: gym.Env[Any, Any]) -> LoadedVerifier:
    """Return a verifier.

    Args:
        verifier: A name (`"proxy"`, `"oracle"`, `"judge:gpt-4o-mini"`), `module:object` of your own (a class, called
            with the environment, or an object with `verify`), or such an object.
        env: The environment whose actions it will see.

    Raises:
        UnknownName: There is no such name, or the label is not one of oracle, proxy, self and learned.
        TypeError: It is neither a name nor something that verifies.
    """
    if isinstance(verifier, str):
        name, _, argument = verifier.partition(":")
        if path := VERIFIERS.get(name) or find_named("verifiers", name, env):
            verifier = load_object(path)(env, *([argument] if argument else []))
        else:
            kind, known = "verifier, judge:<model> for a language model", [*VERIFIERS, *all_named("verifiers")]
            own = load_own(kind, verifier, known, "verifiers", fits=lambda one: hasattr(one, "verify"))
            verifier = instantiate("verifier", verifier, own, env)
    for attribute in ("verify", "information", "needs_preview"):
        if not hasattr(verifier, attribute):
            raise TypeError(
                f"expected a verifier with verify(), information and needs_preview, got {verifier!r:.200} without "
                f"{attribute}; add it"
            )
    assert not isinstance(verifier, str)
    require_label(verifier)
    return with_defaults(verifier, LoadedVerifier)  # type: ignore[no-any-return]
