"""Recorded episodes: what is seen, scored, judged, proposed and told in each step, in the bundled environments.

`IAD_WRITE_SNAPSHOTS=1 pytest tests/iad_envs/test_recorded_episodes.py` records them anew; look at the difference.
"""

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from iad_envs.bash.env import BashEnv
from iad_envs.bird.env import BirdEnv
from iad_envs.booking.env import BookingEnv
from iad_envs.booking.policy.agent import BookingAgent
from iad_envs.booking.policy.features import BookingFeatures
from iad_envs.booking.policy.rendering import BookingRendering
from iad_envs.booking.policy.verifier import BookingVerifier
from iad_envs.webshop.env import WebShopEnv
from iad_envs.webshop.policy.agent import WebShopAgent
from iad_envs.webshop.policy.features import ShopFeatures
from iad_envs.webshop.policy.rendering import ShopRendering
from iad_envs.webshop.policy.verifier import WebShopVerifier
from iad_policy import Candidate, Feedback
from iad_policy.prompts.rendering import Rendering
from iad_policy.types.hashing import digest
from tests.contract.environments import solution_of
from tests.iad_envs.bash.small_tasks import make_tasks
from tests.iad_envs.bird.small_bird import QUESTIONS, UNANSWERED, make_folder
from tests.iad_envs.booking import site_walks
from tests.iad_envs.episode import Episode
from tests.iad_envs.webshop import shop_walks

FOLDER = Path(__file__).parents[1] / "fixtures" / "episodes"
Walk = Callable[[Episode, Any, Random], Iterator[str]]


def gold(episode: Episode, agent: Any, rng: Random) -> Iterator[str]:
    yield from solution_of(episode.env)


def played(episode: Episode, agent: Any, rng: Random) -> Iterator[str]:
    """Do what the rule-based agent proposes when it is warm."""
    while not episode.state.done:
        yield agent.propose(episode.state, feedback=None, temperature=1.0, rng=rng).action


def walked(choose: Callable[[Any, Random], str]) -> Walk:
    """Take random actions."""

    def walk(episode: Episode, agent: Any, rng: Random) -> Iterator[str]:
        while not episode.state.done:
            yield choose(episode.state.info, rng)

    return walk


def given(actions: Sequence[str]) -> Walk:
    return lambda episode, agent, rng: iter(actions)


@dataclass(frozen=True)
class Recorded:
    env: Callable[..., Any]
    parts: Sequence[Any]
    """Its verifier, agent, features and words, if they are recorded too."""
    episodes: Mapping[str, tuple[Walk, str, Mapping[str, Any]]]


def episodes(walk: Walk, *tasks: str, **options: Any) -> dict[str, tuple[Walk, str, Mapping[str, Any]]]:
    name = "-".join([walk.__name__, *map(str, options.values())])
    return {f"{name}-{task}": (walk, task, options) for task in tasks}


def ways(file: str) -> dict[str, tuple[Walk, str, Mapping[str, Any]]]:
    """Ways of a file, whose names say what is to be seen."""
    read = tomllib.loads((FOLDER / file).read_text(encoding="utf-8"))["way"]
    return {one["name"].replace(" ", "-"): (given(one["actions"]), one["task"], one.get("options", {})) for one in read}


RECORDED = {
    "booking": Recorded(
        BookingEnv,
        (BookingVerifier(), BookingAgent(), BookingFeatures(), BookingRendering()),
        episodes(gold, "test-001", "test-002", "test-140", "test-150", "test-163")
        | episodes(played, "test-180", "test-187", "test-169")
        | episodes(walked(site_walks.choose), "test-002", "test-077", "test-090", "test-140", "test-151", "test-187")
        | episodes(gold, "test-148", published=True)
        | ways("booking.toml"),
    ),
    "webshop": Recorded(
        WebShopEnv,
        (WebShopVerifier(), WebShopAgent(), ShopFeatures(), ShopRendering()),
        episodes(gold, "test-0003", "test-0141")
        | episodes(played, "test-0020", "test-0040", "test-0050", "test-0060", "test-0080", "test-0099")
        | episodes(walked(shop_walks.choose), "test-0010", "test-0030", "test-0070")
        | episodes(played, "test-0120", observation_mode="text_rich")
        | episodes(gold, "test-0090", published=True)
        | ways("webshop.toml"),
    ),
    "bird": Recorded(BirdEnv, (), ways("bird.toml")),
    "bash": Recorded(BashEnv, (), ways("bash.toml")),
}


def told(recorded: Recorded, name: str, **given: Any) -> Iterator[str]:
    """The lines of an episode: `>` an action that is taken, `?` the verdict on another, `=` a digest of all details."""
    walk, task_id, options = recorded.episodes[name]
    parts: Sequence[Any] = recorded.parts or (None, None, None, Rendering())
    verifier, agent, features, words = parts
    episode = Episode(recorded.env(**given, **options), verifier, task_id, steps_left=15)
    rng, page, env = Random(name), list[str](), episode.env
    for action in islice(walk(episode, agent, rng), 30):
        here = episode.state
        earlier, page = page, words.page(here).splitlines()
        yield from (f"  {line}" for line in page if line not in earlier)
        rows: Any = None
        if recorded.parts:
            offered = features.actions(here)
            choices = agent.choices(here) if here.info["page"]["kind"] != "index" else {}
            yield f"  {', '.join(f'{fit:.2f} {one}' for one, fit in [*choices.items()][:5])}"
            best, worst = (Candidate(one) for one in rng.sample([*choices, *offered, "nonsense"], 2))
            again = agent.propose(here, feedback=Feedback("", best=best, worst=worst), temperature=1.0, rng=rng).action
            tried = list(dict.fromkeys((best.action, worst.action, again, action)))
            verdicts = {one: episode.verdict(one) for one in tried}
            for one in tried[:-1]:
                yield f"? {one}: {verdicts[one].score:.3f} {verdicts[one].passed}"
            marks = [(env.action_key(one), env.terminal(one), env.irreversible(one)) for one in tried]
            yield f"= {digest([astuple(verdicts[one]) for one in tried], marks, offered, choices, words.values(here))}"
            rows = np.round(features.rows(here, [*offered, action]), 6).tolist()
            yield f"  {verdicts[action].score:.3f} {verdicts[action].passed} {verdicts[action].critique}"
            yield f"  { ({feature: value for feature, value in zip(features.names, rows[-1], strict=True) if value}) }"
        ahead = env.simulate(env.snapshot(), action)
        episode.did(action)
        after, now = episode.state, episode.gold
        yield f"> {action}"
        yield f"  {words.result(here, action, after)} {words.facts(after)}"
        yield f"  {now['progress']:.3f} {now['success']} {now['stop_reason']} {env.why_failed()}"
        yield f"= {digest(after.observation, dict(now), rows, words.outcome(after), words.turns(after), ahead.key)}"
    yield from (f"  {line}" for line in words.page(episode.state).splitlines() if line not in page)
    env.close()


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, one in RECORDED.items() for name in one.episodes])
def test_an_episode_is_as_it_was_recorded(kind: str, name: str, tmp_path: Path) -> None:
    made = {"bird": lambda: make_folder(tmp_path, [*QUESTIONS, UNANSWERED]), "bash": lambda: make_tasks(tmp_path)}
    given = {"data_dir": made[kind]()} if kind in made else {}
    path = FOLDER / kind / f"{name}.txt"
    found = "".join(f"{line.rstrip()}\n" for line in told(RECORDED[kind], name, **given))
    if os.environ.get("IAD_WRITE_SNAPSHOTS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8"), "record it anew, if it is meant: IAD_WRITE_SNAPSHOTS=1"
