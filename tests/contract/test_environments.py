"""Holds the environments to contract 1."""

from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.core import IADEnv
from tests.contract.environments import EnvironmentContract, Subject
from tests.contract.shopping import gold_purchase
from tests.contract.toy import WAYS, Digger, SlipperyDigger


def _dig(env: IADEnv[Any, Any]) -> list[str]:
    """The gold solution from where the environment is; a slippery way has to be seen to be walked."""
    actions: list[str] = env.oracle(env.snapshot())["reference"]
    return actions


def _walk(info: dict[str, Any]) -> str:
    return f"go {list(WAYS)[info['step'] % 4]}"


def browse(info: dict[str, Any]) -> str:
    return ["search[shoes]", "click[next >]", "click[< prev]", "search[red]"][info["step"] % 4]


SUBJECTS = [
    Subject("Toy/Digger-v0", _walk, _dig),
    Subject("Toy/SlipperyDigger-v0", _walk, _dig),
    Subject("IAD/WebShop-v0", browse, gold_purchase),
]


class TestEnvironments(EnvironmentContract):
    @pytest.fixture(params=SUBJECTS, ids=str)
    def subject(self, request: pytest.FixtureRequest) -> Subject:
        subject: Subject = request.param
        return subject

    def test_every_gold_solution_scores_1(self, subject: Subject) -> None:
        if "Slippery" in subject.id:
            pytest.skip("the way there is random, so no list of actions is a solution")
        super().test_every_gold_solution_scores_1(subject)


def test_the_suite_notices_a_simulation_that_moves_the_environment() -> None:
    class Leaky(Digger):
        def simulate(self, token: Any, action: Any, draw: int = 0) -> Any:
            outcome = super().simulate(token, action, draw)
            self._arrive(outcome.token)
            return outcome

    class LeakySubject(Subject):
        def make(self, **options: Any) -> IADEnv[Any, Any]:
            return Leaky(**options)

    subject = LeakySubject("leaky", _walk, _dig)
    with pytest.raises(AssertionError):
        EnvironmentContract().test_simulating_never_moves_the_environment(subject)


def test_the_suite_notices_a_clairvoyant_simulation() -> None:
    class Clairvoyant(SlipperyDigger):
        def simulate(self, token: Any, action: Any, draw: int = 0) -> Any:
            before = self.np_random.bit_generator.state
            after = self._move(token, action, self.np_random)
            self.np_random.bit_generator.state = before
            view = self._view(after.state, after.complaint)
            outcome = super().simulate(token, action, draw)
            return outcome._replace(token=after, observation=view.observation, key=view.observation)

    class ClairvoyantSubject(Subject):
        def make(self, **options: Any) -> IADEnv[Any, Any]:
            return Clairvoyant(**options)

    subject = ClairvoyantSubject("clairvoyant", _walk, _dig)
    with pytest.raises(AssertionError):
        EnvironmentContract().test_a_simulation_of_randomness_is_not_clairvoyant(subject)


def test_a_step_adopts_what_was_simulated_unless_it_is_random() -> None:
    n_transitions: list[str] = []

    class Counted(Digger):
        def _transition(self, state: Any, action: str, rng: Any) -> Any:
            n_transitions.append(action)
            return super()._transition(state, action, rng)

    class CountedSlippery(SlipperyDigger, Counted):
        pass

    for kind, expected in ((Counted, 1), (CountedSlippery, 2)):
        env = kind()
        env.reset(seed=0)
        env.simulate(env.snapshot(), "go west")
        env.step("go west")
        assert len(n_transitions) == expected
        n_transitions.clear()
