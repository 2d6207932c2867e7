"""Makes purchases of known success in `IAD/WebShop-v0`, by which its verifiers are fitted and measured.

Gold is used here only, to make some of them and to label all; no verifier sees it. Sources:

- `agents`: the rule-based shopper at several temperatures, which buys what it likes.
- `random`: a shopper that opens what looks fitting, reads some tabs, and chooses random values or none.
- `gold`: the gold purchase.
- `other value`, `open option`: the gold purchase with one option changed, or left open.
- `other product`: another product of the same results page, with those of the options that it has.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import gymnasium as gym
from support.figures import ROOT

import iad_envs  # noqa: F401 (registers)
from iad_envs.webshop.policy.agent import WebShopAgent
from iad_envs.webshop.policy.reading import FACT_PAGES
from iad_policy.types import Candidate, PublicInfo, State, Turn

BUY, PREVIOUS, NEXT = "click[buy now]", "click[< prev]", "click[next >]"
TEMPERATURES = (0.0, 0.5, 1.0, 2.0, 4.0)
N_RANDOM, N_OTHER_PRODUCTS = 3, 3
"""Number of purchases per task."""
READS_A_TAB, LEAVES_OPEN = 0.4, 0.3
"""Probabilities that a tab is read, and that an option is left open."""
STEPS_TO_BUY = 5
"""Steps that a random shopper keeps for tabs and options."""


class TaskSet(NamedTuple):
    """Tasks of a data folder.

    Attributes:
        folder: The data folder.
        splits: Splits of the tasks. Empty for all.
        goals: Kind of goals; see `IAD/WebShop-v0`.
        is_held_out: Half of the tasks, by a hash of their product's id: the one for reports, or the one that rules may
            be written after. None for both.
    """

    folder: Path
    splits: tuple[str, ...] = ()
    goals: str | None = None
    is_held_out: bool | None = None


BUNDLED = ROOT / "data" / "webshop"
FITTING = TaskSet(BUNDLED, ("train", "dev"))


@dataclass(frozen=True, slots=True)
class Purchase:
    """A purchase that can be committed in a state.

    Attributes:
        task_id: Id of the task.
        source: How it was made; see the module.
        state: The state before it.
        candidate: The purchase with its preview, as a verifier gets it.
        is_right: Whether it solves the task.
    """

    task_id: str
    source: str
    state: State
    candidate: Candidate
    is_right: bool


class Walk:
    """A way through the shop by simulation, which keeps what an agent would see.

    Args:
        env: The environment.
        task_id: Id of the task.
    """

    def __init__(self, env: gym.Env[Any, Any], task_id: str) -> None:
        observation, info = env.reset(options={"task_id": task_id})
        self._env: Any = env.unwrapped
        self._token = self._env.snapshot()
        self.task_id = task_id
        self.state = self._seen(observation, info)

    def copy(self) -> "Walk":
        """Return another walk from here."""
        other = object.__new__(Walk)
        other.__dict__.update(self.__dict__)
        return other

    def take(self, action: str) -> "Walk":
        """Go on by an action, and return this walk."""
        self._token, self.state = self._after(action)
        return self

    def offers(self, action: str) -> bool:
        """Return whether an action is offered here."""
        return action in self.state.info["available_actions"]

    @property
    def page(self) -> dict[str, Any]:
        """The current page."""
        page: dict[str, Any] = self.state.info["page"]
        return page

    @property
    def reference(self) -> dict[str, Any]:
        """The gold purchase."""
        reference: dict[str, Any] = self._env.oracle(self._token)["reference"]
        return reference

    def candidate(self, action: str) -> Candidate:
        """Return an action as a candidate with its preview."""
        return Candidate(action, key=action, preview=self._after(action)[1], is_terminal=action == BUY)

    def purchase(self, source: str) -> Purchase:
        """Return the purchase of the product on this page."""
        is_right = self._env.oracle(self._after(BUY)[0])["reward"] == 1.0
        return Purchase(self.task_id, source, self.state, self.candidate(BUY), is_right)

    def _after(self, action: str) -> tuple[Any, State]:
        outcome = self._env.simulate(self._token, action)
        turn = Turn(self.state.observation, action, self.state.info)
        history = (*self.state.history, turn)
        return outcome.token, self._seen(outcome.observation, outcome.info, history, is_done=outcome.done)

    def _seen(
        self, observation: Any, info: dict[str, Any], history: tuple[Turn, ...] = (), *, is_done: bool = False
    ) -> State:
        public = PublicInfo(info, self._env.GOLD_INFO)
        return State(observation, public, history=history, steps_left=self._env.max_steps - info["step"], done=is_done)


def purchases(tasks: TaskSet, *, recorded: Sequence[Path] = (), n_tasks: int | None = None) -> Iterator[Purchase]:
    """Yield the purchases of each task.

    Args:
        tasks: The tasks.
        recorded: Files with purchases of other agents, one JSON object with `task_id`, `source` and `actions` (those
            before the purchase) per line. If given, only these are yielded.
        n_tasks: Maximum number of tasks, evenly spread over the set. None takes all.
    """
    env = gym.make("IAD/WebShop-v0", data_dir=tasks.folder, goals=tasks.goals, split=None)
    task_ids = _chosen(env, tasks, n_tasks)
    if recorded:
        rows = [json.loads(line) for file in recorded for line in file.read_text(encoding="utf-8").splitlines()]
        yield from _recorded(env, [row for row in rows if row["task_id"] in task_ids])
        return
    for task_id in task_ids:
        start, rng = Walk(env, task_id), Random(task_id)
        for make in MAKERS:
            yield from make(start, rng)


def _chosen(env: gym.Env[Any, Any], tasks: TaskSet, n_tasks: int | None) -> list[str]:
    inner: Any = env.unwrapped
    task_ids = [name for name in inner.task_ids if not tasks.splits or inner.tasks[name].split in tasks.splits]
    if tasks.is_held_out is not None:
        task_ids = [name for name in task_ids if _is_held_out(Walk(env, name)) == tasks.is_held_out]
    step = max(1.0, len(task_ids) / (n_tasks or len(task_ids)))
    return [task_ids[int(place * step)] for place in range(int(len(task_ids) / step))]


def _is_held_out(walk: Walk) -> bool:
    return bool(blake2b(walk.reference["asin"].encode(), digest_size=8).digest()[0] % 2)


def _recorded(env: gym.Env[Any, Any], rows: Sequence[dict[str, Any]]) -> Iterator[Purchase]:
    for row in rows:
        walk = Walk(env, row["task_id"])
        for action in row["actions"]:
            walk.take(action)
        if walk.offers(BUY):
            yield walk.purchase(row["source"])


def _of_agents(start: Walk, rng: Random) -> Iterator[Purchase]:
    for temperature in TEMPERATURES:
        agent, walk = WebShopAgent(temperature=temperature), start.copy()
        while walk.state.steps_left > 0:
            action = agent.propose(walk.state, feedback=None, temperature=None, rng=rng).action
            if action == BUY:
                yield walk.purchase("agents")
                break
            walk.take(action)


def _random(start: Walk, rng: Random) -> Iterator[Purchase]:
    agent = WebShopAgent(temperature=2.0)
    for _ in range(N_RANDOM):
        walk = start.copy()
        while walk.page["kind"] != "item" and walk.state.steps_left > STEPS_TO_BUY:
            walk.take(agent.propose(walk.state, feedback=None, temperature=None, rng=rng).action)
        if walk.page["kind"] != "item":
            continue
        _read(walk, rng)
        for values in walk.page["options"].values():
            if values and rng.random() >= LEAVES_OPEN:
                walk.take(f"click[{rng.choice(values)}]")
        yield walk.purchase("random")


def _around_gold(start: Walk, rng: Random) -> Iterator[Purchase]:
    reference = start.reference
    gold, values = f"click[{reference['asin'].lower()}]", reference["options"]
    words = reference["title"].translate({ord("["): " ", ord("]"): " "})  # brackets would end the action early
    results = start.copy().take(f"search[{words}]")
    page = results.copy()
    while not page.offers(gold):
        if not page.page["products"]:
            return
        page.take(NEXT)
    item = page.take(gold)
    yield _bought(item, values, "gold", rng)
    if values:
        place = rng.randrange(len(values))
        others = [*values[:place], *values[place + 1 :]]
        yield _bought(item, others, "open option", rng)
        offered = next((offer for offer in item.page["options"].values() if values[place] in offer), ())
        different = [value for value in offered if value != values[place]]
        if different:
            yield _bought(item, [*others, rng.choice(different)], "other value", rng)
    shown = [f"click[{product['asin'].lower()}]" for product in results.page["products"]]
    for action in [action for action in shown if action != gold][:N_OTHER_PRODUCTS]:
        other = results.copy().take(action)
        yield _bought(other, [value for value in values if other.offers(f"click[{value}]")], "other product", rng)


def _bought(item: Walk, values: Sequence[str], source: str, rng: Random) -> Purchase:
    walk = item.copy()
    _read(walk, rng)
    for value in values:
        walk.take(f"click[{value}]")
    return walk.purchase(source)


def _read(walk: Walk, rng: Random) -> None:
    for tab in FACT_PAGES:
        if rng.random() < READS_A_TAB:
            walk.take(f"click[{tab}]").take(PREVIOUS)


MAKERS: tuple[Callable[[Walk, Random], Iterator[Purchase]], ...] = (_of_agents, _random, _around_gold)
