"""Simulators answer `Simulate` and produce every preview. To add one, write its file and name it in `SIMULATORS`.

A simulator has its own tokens. It begins at a real state and never changes the real environment: while it runs, a guard
makes stepping, resetting and restoring an error.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium as gym

from iad_policy.errors import SimulationError
from iad_policy.registry import instantiate, load_object, load_own, with_defaults
from iad_policy.types import LoadedRoles, LoadedVerifier
from iad_policy.types.information import may_read_gold
from iad_policy.types.names import PERFECT
from iad_policy.world.simulator import LoadedSimulator, Simulator

SIMULATORS: Mapping[str, str] = {
    PERFECT: "iad_policy.world.simulator:PerfectSimulator",
    "noisy": "iad_policy.simulators.noisy:NoisySimulator",
    "retrieval": "iad_policy.simulators.retrieval:retrieval_simulator",
    "learned": "iad_policy.simulators.learned:LearnedSimulator",
    "llm": "iad_policy.simulators.llm:language_simulator",
}
"""Name -> "module:factory". A factory is called with the environment and, for `name:argument`, the argument."""


def load_simulator(simulator: str | Simulator, env: gym.Env[Any, Any]) -> LoadedSimulator:
    """Return a simulator.

    Args:
        simulator: A name (`"perfect"`, `"noisy:0.8"`, `"retrieval"`, `"llm:gpt-4o-mini"`), `module:object` of your
            own (a class, called with the environment, or an object), or an object with `begin` and `simulate`.
        env: The environment to simulate.

    Raises:
        UnknownName: There is no such name.
        TypeError: It is neither a name nor a simulator.
    """
    if isinstance(simulator, str):
        name, _, argument = simulator.partition(":")
        if name in SIMULATORS:
            simulator = load_object(SIMULATORS[name])(env, *([argument] if argument else []))
        else:
            own = load_own("simulator", simulator, [*SIMULATORS, "llm:<model>"])
            simulator = instantiate("simulator", simulator, own, env)
    for attribute in ("begin", "simulate", "identity", "is_perfect"):
        if not hasattr(simulator, attribute):
            raise TypeError(
                f"expected a simulator with begin(), simulate(), identity and is_perfect, got {simulator!r:.200} "
                f"without {attribute}; add it"
            )
    assert not isinstance(simulator, str)
    return with_defaults(simulator, LoadedSimulator)  # type: ignore[no-any-return]


def require_predicted_info(
    simulator: LoadedSimulator, verifier: LoadedVerifier | None, roles: Iterable[LoadedRoles] = ()
) -> None:
    """Refuse a verifier or a role that reads from simulated states what the simulator does not predict.

    Raises:
        SimulationError: One of them reads the structured info, and the simulator predicts observations alone.
    """
    if simulator.predicts_info:
        return
    if verifier is not None and verifier.needs_preview and verifier.reads_info:
        raise _reads_info(simulator, "verifier", verifier, '--verifier judge:<model> (verifier="judge:<model>")')
    for one in roles:
        if one.reads_info:
            raise _reads_info(simulator, "role", one, "another component, such as --role evaluator=litellm:<model>")


def _reads_info(simulator: LoadedSimulator, kind: str, reader: Any, fix: str) -> SimulationError:
    return SimulationError(
        f"expected a {kind} that reads observations, as the simulator {simulator.identity:.60} predicts no facts and "
        f"no page, got {type(reader).__name__}, which reads them; pass {fix}, or the simulator perfect, noisy:F or "
        "retrieval"
    )


def require_no_gold(simulator: Simulator, *readers: Any) -> None:
    """Refuse an agent, verifier or role that reads gold unless the simulator is perfect: only real outcomes have gold.

    Raises:
        SimulationError: One of the readers is labelled `oracle`.
    """
    for reader in readers:
        if not simulator.is_perfect and may_read_gold(reader):
            raise SimulationError(
                f"expected the perfect simulator with {type(reader).__name__}, which reads gold, got "
                f"{simulator.identity}, whose outcomes never happened and so have no gold; pass --simulator perfect "
                "(simulator='perfect'), or one that reads none"
            )
