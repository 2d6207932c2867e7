"""Purchases of known success in IAD/WebShop-v0, on which its proxy verifier is fitted and measured.

Gold is used to make some of them and to label all, never to score one. Three sources:

- `agents`: the rule-based shopper at several temperatures, which buys what it likes.
- `random`: a shopper that reads some tabs, leaves options open and chooses random values.
- `pairs`: the gold purchase, and next to it the same with one option changed, one left open, or another product.
"""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from iad_policy.domains.webshop.agent import WebShopAgent
from iad_policy.types import Candidate, PublicInfo, State, Turn

BUY = "click[buy now]"
TEMPERATURES = (0.0, 0.5, 1.0, 2.0, 4.0)
SOURCES = ("agents", "random", "pairs")
READS_A_TAB, LEAVES_OPEN = 0.4, 0.3
MAX_PAGES = 5


class Purchase(NamedTuple):
    """A purchase that can be committed in a state.

    Attributes:
        task: Id of the task.
        source: How it was made; one of `SOURCES`.
        state: The state before it.
        candidate: The purchase with its preview, as a verifier gets it.
        success: Whether it solves the task.
    """

    task: str
    source: str
    state: State
    candidate: Candidate
    success: bool


class Walk:
    """A walk through the shop by simulation, which keeps what an agent would see.

    Args:
        env: The environment. It must have been reset to the task.
        info: The info of the reset.
        observation: The observation of the reset.
    """

    def __init__(self, env: Any, observation: Any, info: dict[str, Any]) -> None:
        self._env = env.unwrapped
        self._token = self._env.snapshot()
        self.state = self._seen(observation, info, ())

    def take(self, action: str) -> None:
        """Go on by one action."""
        self._token, self.state = self._after(action)

    def offers(self, action: str) -> bool:
        """Return whether an action is possible here."""
        return action in self.state.info["available_actions"]

    def purchase(self, source: str) -> Purchase:
        """Return the purchase on this product page, with its success."""
        token, preview = self._after(BUY)
        success = self._env.oracle(token)["reward"] == 1.0
        candidate = Candidate(BUY, key=BUY, preview=preview, is_terminal=True)
        return Purchase(self.state.info["task_id"], source, self.state, candidate, success)

    def copy(self) -> "Walk":
        """Return a second walk that starts here."""
        other = object.__new__(Walk)
        other._env, other._token, other.state = self._env, self._token, self.state
        return other

    def _after(self, action: str) -> tuple[Any, State]:
        outcome = self._env.simulate(self._token, action)
        turn = Turn(self.state.observation, action, self.state.info)
        return outcome.token, self._seen(outcome.observation, outcome.info, (*self.state.history, turn), outcome.done)

    def _seen(
        self, observation: Any, info: dict[str, Any], history: tuple[Turn, ...], done: bool = False
    ) -> State:
        steps_left = self._env.max_steps - info["step"]
        public = PublicInfo(info, self._env.GOLD_INFO)
        return State(observation, public, history=history, steps_left=steps_left, done=done)


def purchases(env: Any, task_ids: Sequence[str], *, seed: int = 0) -> Iterator[Purchase]:
    """Yield purchases of all sources for each task."""
    for task_id in task_ids:
        start = Walk(env, *env.reset(options={"task_id": task_id}))
        rng = Random(f"{seed}:{task_id}")
        for temperature in TEMPERATURES:
            yield from _agent(start.copy(), temperature, rng)
        for _ in range(3):
            yield from _random(start.copy(), rng)
        yield from _pairs(start.copy(), env.unwrapped.oracle(env.unwrapped.snapshot())["reference"], rng)


def _agent(walk: Walk, temperature: float, rng: Random) -> Iterator[Purchase]:
    agent = WebShopAgent(temperature=temperature)
    while not walk.state.done and walk.state.steps_left > 0:
        action = agent.propose(walk.state, feedback=None, temperature=None, rng=rng).action
        if action == BUY:
            yield walk.purchase("agents")
            return
        walk.take(action)


def _random(walk: Walk, rng: Random) -> Iterator[Purchase]:
    agent = WebShopAgent(temperature=2.0)
    while walk.state.info["page"]["kind"] != "item" and walk.state.steps_left > 5:
        walk.take(agent.propose(walk.state, feedback=None, temperature=None, rng=rng).action)
    if walk.state.info["page"]["kind"] == "item":
        _read(walk, rng)
        for values in walk.state.info["page"]["options"].values():
            if values and rng.random() >= LEAVES_OPEN:
                walk.take(f"click[{rng.choice(values)}]")
        yield walk.purchase("random")


def _pairs(walk: Walk, reference: dict[str, Any], rng: Random) -> Iterator[Purchase]:
    walk.take(f"search[{reference['title'].replace('[', ' ').replace(']', ' ')}]")
    results = walk.copy()
    gold = f"click[{reference['asin'].lower()}]"
    for _ in range(MAX_PAGES):
        if walk.offers(gold):
            break
        walk.take("click[next >]")
    if not walk.offers(gold):
        return
    walk.take(gold)
    wanted = reference["options"]
    yield from _bought(walk.copy(), wanted, rng)
    if wanted:
        place = rng.randrange(len(wanted))
        options = walk.state.info["page"]["options"]
        values = next((values for values in options.values() if wanted[place] in values), ())
        others = [value for value in values if value != wanted[place]]
        if others:
            yield from _bought(walk.copy(), [*wanted[:place], rng.choice(others), *wanted[place + 1 :]], rng)
        yield from _bought(walk.copy(), [*wanted[:place], *wanted[place + 1 :]], rng)
    for product in results.state.info["page"]["products"][:3]:
        other = f"click[{product['asin'].lower()}]"
        if other != gold:
            sibling = results.copy()
            sibling.take(other)
            yield from _bought(sibling, [value for value in wanted if sibling.offers(f"click[{value}]")], rng)


def _bought(walk: Walk, values: Sequence[str], rng: Random) -> Iterator[Purchase]:
    _read(walk, rng)
    for value in values:
        walk.take(f"click[{value}]")
    yield walk.purchase("pairs")


def _read(walk: Walk, rng: Random) -> None:
    for tab in ("description", "features"):
        if rng.random() < READS_A_TAB:
            walk.take(f"click[{tab}]")
            walk.take("click[< prev]")
