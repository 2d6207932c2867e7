"""Fits the proxy verifier of `IAD/WebShop-v0`, and measures what its scores of purchases say about success.

    python benchmarks/support/webshop_verifier.py        the evidence, over all purchases and by source
    python benchmarks/support/webshop_verifier.py --fit  the weights of iad_envs/webshop/policy/fit.py

It is fitted to purchases on the bundled train and dev tasks. With `IAD_REAL_DATA` set, the evidence includes the
official products. The rules were written after half of them, and never fitted. Gold is used here only, to make some
purchases and to label all; no verifier sees it. Sources:

- `agents`: the rule-based shopper at several temperatures, which buys what it likes.
- `random`: a shopper that opens what looks fitting, reads some tabs, and chooses random values or none.
- `gold`: the gold purchase.
- `other value`, `open option`: the gold purchase with one option changed, or left open.
- `other product`: another product of the same results page, with those of the options that it has.

Besides, four purchases for each of 15 test goals that a capable reader made from the pages alone, the best first. The
reader knew nothing of the verifier, and nothing was fitted to them.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import gymnasium as gym
import numpy as np
from support.evidence import CandidateSet, Labelled, evidence_on, logistic, scored_sets
from support.figures import ROOT

import iad_envs  # noqa: F401 (registers)
from iad_envs.webshop.policy.agent import WebShopAgent
from iad_envs.webshop.policy.fit import WEIGHTS
from iad_envs.webshop.policy.reading import FACT_PAGES
from iad_envs.webshop.policy.verifier import WebShopVerifier, verdict
from iad_policy.report.verifier_evidence import Auc, VerifierEvidence, auc
from iad_policy.types import Candidate, PublicInfo, State, Turn

BUY = "click[buy now]"


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
READ = ROOT / "tests" / "fixtures" / "webshop" / "purchases.jsonl"
FITTING, HELD_OUT = TaskSet(BUNDLED, ("train", "dev")), TaskSet(BUNDLED, ("test",))


class Walk:
    """A way through the shop by simulation, which keeps what an agent would see. Its copies go on by themselves."""

    def __init__(self, env: gym.Env[Any, Any], task_id: str) -> None:
        observation, info = env.reset(options={"task_id": task_id})
        self._env: Any = env.unwrapped
        self._token = self._env.snapshot()
        self.task_id = task_id
        self.state = State(observation, PublicInfo(info, self._env.GOLD_INFO), steps_left=self._env.max_steps)

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

    def purchase(self, source: str) -> CandidateSet:
        """Return the purchase of the product on this page."""
        token, preview = self._after(BUY)
        candidate = Candidate(BUY, key=BUY, preview=preview, is_terminal=True)
        is_right = self._env.oracle(token)["reward"] == 1.0
        return CandidateSet(self.task_id, self.state, (Labelled(source, candidate, is_right),))

    def bought(self, values: Iterable[str], source: str, rng: Random) -> CandidateSet:
        """Return the purchase after some tabs were read and values chosen."""
        walk = copy(self)
        for tab in FACT_PAGES:
            if rng.random() < 0.4:
                walk.take(f"click[{tab}]").take("click[< prev]")
        for value in values:
            walk.take(f"click[{value}]")
        return walk.purchase(source)

    def _after(self, action: str) -> tuple[Any, State]:
        outcome = self._env.simulate(self._token, action)
        history = (*self.state.history, Turn(self.state.observation, action, self.state.info))
        public, left = PublicInfo(outcome.info, self._env.GOLD_INFO), self._env.max_steps - outcome.info["step"]
        return outcome.token, State(outcome.observation, public, history=history, steps_left=left, done=outcome.done)


def purchases(tasks: TaskSet, n_tasks: int | None = None) -> Iterator[CandidateSet]:
    """Yield the purchases of each task, one to a set; of at most `n_tasks` tasks, evenly spread over the set."""
    env = gym.make("IAD/WebShop-v0", data_dir=tasks.folder, goals=tasks.goals, split=None)
    inner: Any = env.unwrapped
    task_ids = [name for name in inner.task_ids if not tasks.splits or inner.tasks[name].split in tasks.splits]
    if tasks.is_held_out is not None:
        asins = {name: Walk(env, name).reference["asin"].encode() for name in task_ids}
        half = {name: blake2b(asin, digest_size=8).digest()[0] % 2 == 1 for name, asin in asins.items()}
        task_ids = [name for name in task_ids if half[name] == tasks.is_held_out]
    step = max(1.0, len(task_ids) / (n_tasks or len(task_ids)))
    task_ids = [task_ids[int(place * step)] for place in range(int(len(task_ids) / step))]
    for task_id in task_ids:
        start, rng = Walk(env, task_id), Random(task_id)
        yield from _of_agents(start, rng)
        yield from _around_gold(start, rng)


def _of_agents(start: Walk, rng: Random) -> Iterator[CandidateSet]:
    for temperature in (0.0, 0.5, 1.0, 2.0, 4.0):
        agent, walk = WebShopAgent(temperature=temperature), copy(start)
        while walk.state.steps_left > 0:
            action = agent.propose(walk.state, feedback=None, temperature=None, rng=rng).action
            if action == BUY:
                yield walk.purchase("agents")
                break
            walk.take(action)
    agent = WebShopAgent(temperature=2.0)
    for _ in range(3):
        walk = copy(start)
        while walk.page["kind"] != "item" and walk.state.steps_left > 5:  # for tabs and options
            walk.take(agent.propose(walk.state, feedback=None, temperature=None, rng=rng).action)
        if walk.page["kind"] == "item":
            offered = walk.page["options"].values()
            chosen = (rng.choice(values) for values in offered if values and rng.random() >= 0.3)
            yield walk.bought(chosen, "random", rng)


def _around_gold(start: Walk, rng: Random) -> Iterator[CandidateSet]:
    reference = start.reference
    gold, values = f"click[{reference['asin'].lower()}]", reference["options"]
    words = reference["title"].replace("[", " ").replace("]", " ")  # brackets would end the action early
    results = copy(start).take(f"search[{words}]")
    item = copy(results)
    while not item.offers(gold):
        if not item.page["products"]:
            return
        item.take("click[next >]")
    item.take(gold)
    yield item.bought(values, "gold", rng)
    if values:
        place = rng.randrange(len(values))
        others = [*values[:place], *values[place + 1 :]]
        yield item.bought(others, "open option", rng)
        offered = next((offer for offer in item.page["options"].values() if values[place] in offer), ())
        different = [value for value in offered if value != values[place]]
        if different:
            yield item.bought([*others, rng.choice(different)], "other value", rng)
    shown = [f"click[{product['asin'].lower()}]" for product in results.page["products"]]
    for action in [action for action in shown if action != gold][:3]:
        other = copy(results).take(action)
        kept = [value for value in values if other.offers(f"click[{value}]")]
        yield other.bought(kept, "other product", rng)


def of_reader(*, is_open: bool) -> dict[str, list[CandidateSet]]:
    """Return the reader's purchases by goal, with the product's tabs opened before or not."""
    env = gym.make("IAD/WebShop-v0", split="test")
    found: dict[str, list[CandidateSet]] = {}
    for line in READ.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        walk = Walk(env, one["task"])
        for action in one["actions"][:-1]:
            was_item = walk.page["kind"] == "item"
            walk.take(action)
            for tab in FACT_PAGES if is_open and walk.page["kind"] == "item" and not was_item else ():
                walk.take(f"click[{tab}]").take("click[< prev]")
        found.setdefault(one["task"], []).append(walk.purchase("reader"))
    return found


def reader_evidence(*, is_open: bool) -> tuple[Auc, dict[str, float]]:
    """Return the AUC on the reader's purchases, and the share of goals that each way to choose among four solves."""
    goals = list(of_reader(is_open=is_open).values())
    right = np.array([[one.members[0].is_right for one in own] for own in goals])
    scores = np.array([[one.scores[0] for one in scored_sets(own, WebShopVerifier())] for own in goals])
    tasks = np.repeat(np.arange(len(goals)), right.shape[1]).tolist()
    chosen = right[np.arange(len(goals)), scores.argmax(axis=1)]
    shares = {"any one": right.mean(), "the reader's first": right[:, 0].mean(), "the verifier's": chosen.mean()}
    return auc(scores.ravel(), right.ravel(), tasks=tasks), {name: round(float(one), 3) for name, one in shares.items()}


def webshop_evidence(n_tasks: int | None = None) -> VerifierEvidence:
    """Return how well the proxy verifier's scores of purchases on held-out tasks tell success."""
    return evidence_on(scored_sets(list(purchases(HELD_OUT, n_tasks)), WebShopVerifier()))


def fit(given: Sequence[CandidateSet]) -> dict[str, float]:
    """Return the weight of each feature, and of the bias. No feature can speak for success: each says what lacks."""
    names = [name for name in WEIGHTS if name != "bias"]
    details = [verdict(one.state, one.members[0].candidate).details for one in given]
    found = logistic(
        np.array([[1.0, *(found[name] for name in names)] for found in details], float),
        np.array([one.members[0].is_right for one in given], float),
        np.full(len(given), 1.0 / len(given)),
        penalties=[0.0, *[1e-4] * len(names)],
        bounds=[(None, None), *[(None, 0.0)] * len(names)],
    )
    return dict(zip(["bias", *names], map(float, found), strict=True))


def main() -> None:
    if "--fit" in sys.argv:
        for name, weight in fit(list(purchases(FITTING))).items():
            print(f'    "{name}": {weight:.2f},')
        return
    sets = {"bundled, fitted": (FITTING, None), "bundled, held out": (HELD_OUT, None)}
    if real := os.environ.get("IAD_REAL_DATA"):
        folder = Path(real) / "webshop"
        for name, is_held_out in (("seen", False), ("held out", True)):  # thousands of goals, of few products
            sets[f"official, {name}"] = (TaskSet(folder, goals="synthetic", is_held_out=is_held_out), 600)
        sets["official, 13 human goals, seen"] = (TaskSet(folder, goals="human"), None)
    for name, (tasks, n_tasks) in sets.items():
        found = scored_sets(list(purchases(tasks, n_tasks=n_tasks)), WebShopVerifier())
        print(f"{name}: {evidence_on(found)}", flush=True)
        for source in dict.fromkeys(one.one.members[0].source for one in found):
            own = [one for one in found if one.one.members[0].source == source]
            print(f"  {source}: {evidence_on(own)}", flush=True)
    for is_open in (False, True):
        area, solved = reader_evidence(is_open=is_open)
        (low, high), tabs = area.interval, "tabs opened" if is_open else "no tab opened"
        print(f"a reader's purchases, {tabs}: AUC {area.value:.3f} [{low:.3f}, {high:.3f}]; solved of four: {solved}")


if __name__ == "__main__":
    main()
