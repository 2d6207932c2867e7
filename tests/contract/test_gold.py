"""Contract 3: who may see gold, and that nobody can change what they are given, at any depth."""

import copy
import json
import math
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest

from iad_policy import Candidate, IADPolicyWrapper, State, Verdict, per_step
from iad_policy.errors import ContractError, GoldError, ModelError, ReadOnlyError
from iad_policy.requests import Ask, Propose, Simulate, Verify
from iad_policy.types import Exchange, Outcome, Part
from iad_policy.types.hashing import digest, encode
from iad_policy.types.information import Information
from iad_policy.types.read_only import read_only, writable
from iad_policy.verifiers import load_verifier
from iad_policy.world import adapt
from tests.contract.components import Wanderer, decide
from tests.contract.toy import Digger


def info_of(step: int) -> dict[str, Any]:
    """Return an info with a container of every kind, nested."""
    return {
        "step": step,
        "instruction": "Find the way out.",
        "available_actions": ["go", {"move": [1, 2]}, ("a", ["b"])],
        "facts": {"seen": {"rooms": [{"name": "hall"}]}, "tags": {"dark"}},
        "page": {"rows": [[1, 2], [3, 4]], "image": np.zeros((2, 2)), "pair": ([1], {"x": 1})},
        "success": False,
    }


class Rooms(gym.Env[Any, Any]):
    """An environment of a user: plain dicts and lists everywhere, in actions and observations too."""

    observation_space: gym.Space[Any] = gym.spaces.Dict({"map": gym.spaces.Box(0, 9, (2, 2))})
    action_space: gym.Space[Any] = gym.spaces.Dict(
        {"force": gym.spaces.Box(-9, 9, (2,)), "way": gym.spaces.Dict({"to": gym.spaces.Box(-9, 9, (2,))})}
    )
    GOLD_INFO: ClassVar[frozenset[str]] = frozenset({"success"})

    n_steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.n_steps = 0
        return self._seen(), info_of(0)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        action["way"]["to"] *= 2  # it may, as the action is its own
        self.n_steps += 1
        return self._seen(), 0.0, False, False, info_of(self.n_steps)

    def _seen(self) -> Any:
        return {"map": np.full((2, 2), self.n_steps, dtype=np.float32)}


def action_of(number: float) -> dict[str, Any]:
    force = np.full(2, number, dtype=np.float32)
    return {"force": force, "way": {"to": force + 1}}


def containers(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield everything that a value holds and that may be changed in place, with the way to it."""
    if isinstance(value, dict | list | set | np.ndarray):
        yield place, value
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from containers(part, f"{place}[{key!r}]")
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from containers(part, f"{place}[{number}]")
    elif is_dataclass(value):
        for one in fields(value):
            yield from containers(getattr(value, one.name), f"{place}.{one.name}")


def changes_of(value: Any) -> Sequence[tuple[Any, ...]]:
    """Methods, with arguments, that change a value in place."""
    if isinstance(value, dict):
        return (
            *(("__setitem__", "new", 1), ("__delitem__", "new"), ("clear",), ("pop", "new", None), ("popitem",)),
            *(("setdefault", "new", 1), ("update", {"new": 1}), ("__ior__", {"new": 1}), ("__setattr__", "new", 1)),
        )
    if isinstance(value, list):
        return (
            *(("__setitem__", slice(None), [1]), ("__delitem__", slice(None)), ("append", 1), ("clear",), ("pop",)),
            *(("extend", [1]), ("insert", 0, 1), ("remove", value[0] if value else 1), ("reverse",), ("sort",)),
            *(("__iadd__", [1]), ("__imul__", 2), ("__setattr__", "new", 1)),
        )
    return [("add", "new")] if isinstance(value, set) else [("__setitem__", ..., 7), ("fill", 7), ("__iadd__", 1)]


def changed_by_force(*given: Any) -> list[str]:
    worked = []
    for place, container in containers(given, "given"):
        for name, *arguments in changes_of(container):
            try:
                getattr(container, name)(*arguments)
            except (ReadOnlyError, AttributeError, ValueError):  # in this order: containers, attributes, arrays
                continue
            worked.append(f"{name} {place}")
    return worked


class Vandal:
    """Every component of a policy at once. Each tries to change all that it is given."""

    source = identity = "vandal"
    needs_preview = compares = is_perfect = True

    def __init__(self, information: str = "proxy") -> None:
        self.information = information
        self.worked: list[str] = []
        self.seen: list[Any] = []

    def propose(self, state: State, *, feedback: Any, **_: Any) -> Candidate:
        self._try("agent", state, feedback)
        exchange = Exchange([{"role": "user", "content": [{"text": "Where?"}]}], "there", sampling={"stop": ["."]})
        return Candidate(action_of(1), parts=(Part("plan", "go"),), exchanges=(exchange,))

    def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        self._try("verifier", state, candidates)
        return [Verdict(0.5, details={"why": ["so"]}) for _ in candidates]

    def answer(self, role: str, state: State, subject: Any) -> str:
        self._try("roles", state, subject)
        return "a text"

    def begin(self, world: Any, state: State) -> Any:
        return world.snapshot()

    def simulate(self, world: Any, token: Any, action: Any, draw: int) -> Outcome:
        self._try("simulator", action)
        return world.simulate(token, action, draw)

    def _try(self, who: str, *given: Any) -> None:
        self.seen += given
        before = repr(list(containers(given, "")))
        self.worked += [f"{who}: {way}" for way in changed_by_force(*given)]
        assert repr(list(containers(given, ""))) == before


@per_step
def everything(here: State) -> Any:
    """Ask each component, about simulated states, own candidates and lists too."""
    tried = yield from Propose(here, 2)
    tried = yield from Verify(here, [*tried, Candidate(action_of(0))])
    there = yield from Simulate(here, tried[0])
    yield from Verify(there, (yield from Propose(there, 1)))
    yield from Ask("critic", there, tried)
    yield from Ask("critic", there, {"states": [here, there]})
    return tried[0]


@pytest.mark.parametrize("information", ["proxy", "oracle"])
def test_nothing_that_a_component_is_given_can_be_changed(information: str) -> None:
    env, vandal = Rooms(), Vandal(information)
    own_infos = []
    with IADPolicyWrapper(vandal, env, strategy=everything, verifier=vandal, roles=vandal, simulator=vandal) as policy:
        observation, info = env.reset(seed=0)
        for _ in range(2):
            own_infos.append((info, copy.deepcopy(info)))
            action = policy.act(observation, info)
            assert type(action) is dict
            observation, *_, info = env.step(action)
    assert vandal.worked == []
    kinds = {type(container).__mro__[-2] for _, container in containers(vandal.seen, "")}
    assert kinds == {dict, list, np.ndarray}
    assert any(state.history for state in vandal.seen if isinstance(state, State))
    for info, before in own_infos:
        assert encode(info) == encode(before)
        assert (type(info), type(info["page"]["rows"])) == (dict, list)
        info["page"]["rows"].append("mine")  # the user's own stays the user's


def test_the_attempt_is_an_error_that_says_what_to_do_and_what_can_be_done_with_info_goes_on() -> None:
    class Careless(Vandal):
        def propose(self, state: State, **_: Any) -> Candidate:
            return Candidate(state.info["page"]["rows"].pop())

        def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
            state.info["instruction"] = "buy something else"  # type: ignore[index]
            return []

    for agent, verifier in ((Careless(), Vandal()), (Vandal(), Careless())):
        env = Rooms()
        seen = env.reset(seed=0)
        policy = IADPolicyWrapper(agent, env, strategy="bon", verifier=verifier)
        with policy, pytest.raises(ContractError, match=r"copy\.deepcopy"):
            policy.act(*seen)
    shown = {"rows": [[1, 2], {"x": None}], "title": "hall"}
    infos: list[Any] = []

    class Plain(Digger):
        def _public(self, *arguments: Any) -> dict[str, Any]:
            return super()._public(*arguments) | {"page": shown}

    env = Plain()
    with IADPolicyWrapper(lambda _, info: infos.append(info) or "go west", env, strategy="single") as policy:
        observation, own = env.reset(seed=0)
        policy.act(observation, own)
    (info,) = infos
    public = {key: value for key, value in own.items() if key not in Digger.GOLD_INFO}
    page = info["page"]
    assert (info, page, page["rows"]) == (public, shown, shown["rows"])
    assert json.dumps(info, sort_keys=True) == json.dumps(public, sort_keys=True)
    assert pickle.loads(pickle.dumps(info)) == public
    assert repr(info) == repr(public)
    for value, kind in ((info, dict), (page, dict), (page["rows"], list)):
        assert isinstance(value, kind)
        for copied in (copy.copy(value), value.copy(), kind(value), copy.deepcopy(value)):
            assert (type(copied), copied) == (kind, value)
    assert type(copy.deepcopy(info)["page"]["rows"][0]) is list
    assert type(page | {"more": 1}) is dict
    assert page["rows"] + [3] == [[1, 2], {"x": None}, 3]


def test_read_only_values_equal_and_hash_as_the_given_ones_do() -> None:
    value = {**info_of(3), "nothing": None, "bytes": b"x", "object": Ellipsis, "frozen": frozenset({1})}
    once = read_only(value)
    assert (encode(once), digest(once)) == (encode(value), digest(value))
    assert read_only(once) is once
    images = once["page"]["image"], value["page"]["image"]
    assert [image.flags.writeable for image in images] == [False, True]
    assert np.shares_memory(*images)
    back = writable(once)
    assert (encode(back), type(back["page"]["rows"][0])) == (encode(value), list)
    back["page"]["image"] += 1
    assert not once["page"]["image"].any()
    turn = Part("plan", "go")
    assert read_only(turn) is turn  # a named tuple keeps its type
    exchange = read_only(Exchange([{"role": "user"}], "go"))
    assert (type(exchange), exchange.prompt) == (Exchange, [{"role": "user"}])
    pickled = pickle.loads(pickle.dumps(read_only({"rows": [[1], {"x": 1}]})))
    assert pickled == {"rows": [[1], {"x": 1}]}
    assert changed_by_force(exchange.prompt, pickled) == []


GOLD = sorted(Digger.GOLD_INFO)


@dataclass
class Asked:
    judge: Callable[[State, Sequence[Candidate]], Sequence[Verdict]]
    information: Information = "proxy"
    needs_preview: bool = True
    per_candidate: bool = False

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        return self.judge(state, candidates)


@pytest.mark.parametrize("read", [lambda info, key: info[key], lambda info, key: info.get(key)])
def test_reading_gold_raises_for_agent_function_and_verifier(read: Any) -> None:
    for key in GOLD:
        agent = type("Peeker", (), {"propose": lambda self, state, key=key, **_: read(state.info, key)})()
        for players in (
            {"agent": lambda observation, info, key=key: read(info, key)},
            {"agent": agent},
            {"verifier": Asked(lambda state, candidates, key=key: read(state.info, key))},  # type: ignore[misc]
            {"verifier": Asked(lambda _, candidates, key=key: [read(c.preview.info, key) for c in candidates])},  # type: ignore[misc]
        ):
            with pytest.raises(GoldError, match=f"'{key}'"):
                decide(**players)


def test_gold_is_not_in_info_however_it_is_looked_at() -> None:
    seen: list[Mapping[str, Any]] = []

    class Looker(Wanderer):
        def propose(self, state: State, **options: Any) -> Candidate:
            seen.append(state.info)
            assert not hasattr(state, "progress")
            assert all(isinstance(turn.observation, str) for turn in state.history)
            return super().propose(state, **options)

    @per_step
    def deep(here: State) -> Any:
        (first,) = yield from Propose(here, 1)
        there = yield from Simulate(here, first)
        seen.append(there.info)
        yield from Propose(there, 1)
        return first

    decide(agent=Looker(errors=0.0), strategy=deep)
    assert len(seen) == 3
    for info in seen:
        assert not any(set(GOLD) & set(keys) for keys in (info, dict(info), info | {}))
        assert not any(key in info for key in (*GOLD, "no such key"))
        assert info.get("no such key", 7) == 7
        with pytest.raises(KeyError):
            info["no such key"]


def test_only_an_oracle_gets_gold_in_previews_and_scores_by_progress_before_the_end_and_by_reward_at_it() -> None:
    golds: list[Any] = []

    def judge(state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        assert state.gold is None
        golds.extend(one.preview and one.preview.gold for one in candidates)
        return [Verdict(float(one.preview is not None)) for one in candidates]

    decision = decide(verifier=Asked(judge, information="oracle", needs_preview=False), strategy="iad")
    assert all(set(one) == {"reward", "progress", "success", "reward_parts", "reference"} for one in golds)
    assert all(one.preview.gold is None for one in (*decision.candidates, decision.committed))
    golds.clear()
    for needed in (False, True):  # others get previews only if they need them
        assert {one.score for one in decide(verifier=Asked(judge, needs_preview=needed)).candidates} == {needed}
    assert set(golds) == {None}
    env, actions = Digger(), iter(["go west", "go east", "dig"])
    agent = type("Reciter", (), {"propose": lambda self, state, **_: Candidate(next(actions))})()
    with IADPolicyWrapper(agent, env, verifier=load_verifier("oracle", env), strategy="bon") as policy:
        policy.act(*env.reset(options={"task_id": "mill"}))  # one room to the west of the start
        assert [candidate.score for candidate in policy.decisions[0].candidates] == [1.0, 0.5, 0.0]


@pytest.mark.parametrize("name", ["Toy/Digger-v0", "IAD/WebShop-v0"])
def test_an_oracle_reads_the_solution_when_it_wants_to_and_cannot_change_it(name: str) -> None:
    read: list[Any] = []

    def judge(state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        for candidate in candidates:
            gold: Any = candidate.preview and candidate.preview.gold
            assert "solution" not in gold
            read.append(gold["solution"])
            assert gold["solution"] is gold["solution"]
            with pytest.raises(ReadOnlyError):
                gold["solution"].append("more")
            with pytest.raises(KeyError):
                gold["no such key"]
        return [Verdict(0.0) for _ in candidates]

    env: Any = gym.make(name).unwrapped
    tell = lambda observation, info, rng: str(rng.choice(info["available_actions"]))  # noqa: E731
    decision = decide(verifier=Asked(judge, information="oracle"), agent=tell, env=env)
    assert all(math.isfinite(one.score) for one in decision.candidates)  # the verifier did not fail
    assert read[0] == env.oracle(env.snapshot())["solution"]
    dice = gym.make("Toy/Dice-v0", is_copyable=True)  # of which no solution is known
    world = adapt(dice)
    world.begin(dice.reset(seed=1)[0])
    assert world.oracle(world.snapshot())["solution"] is None


def test_a_verifier_that_raises_or_gives_no_number_scores_minus_infinity_and_says_why() -> None:
    for error, kind in ((ZeroDivisionError(), "crash"), (ModelError("no answer", kind="timeout"), "timeout")):
        for apart in (False, True):
            for candidate in decide(verifier=Asked(raising(error), per_candidate=apart)).candidates:
                assert candidate.score == -math.inf
                assert candidate.verdict.critique.startswith("verification failed")
                assert candidate.verdict.details == {"error_kind": kind}
    decision = decide(verifier=Asked(lambda state, candidates: [Verdict(math.nan, "hm")] * len(candidates)))
    assert all(candidate.score == -math.inf for candidate in decision.candidates)
    assert decision.committed.verdict.critique.endswith("not a number. hm")


def raising(error: Exception) -> Any:
    def judge(state: State, candidates: Sequence[Candidate]) -> Any:
        raise error

    return judge


def test_what_breaks_the_contract_is_refused() -> None:
    for n in (0, 1, 4):
        with pytest.raises(ContractError, match=rf"\b3 verdicts from Asked, .*got {n}"):
            decide(verifier=Asked(lambda state, candidates, n=n: [Verdict(0.0)] * n))  # type: ignore[misc]
    blurter = type("Blurter", (), {"propose": lambda self, state, **_: "dig"})()
    with pytest.raises(ContractError, match="Candidate"):
        decide(agent=blurter)
    with pytest.raises(ValueError, match="learned, oracle, proxy, self"):
        load_verifier(Asked(lambda state, candidates: [], information="psychic"), Digger())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="information"):
        load_verifier(type("Mute", (), {"verify": None})(), Digger())
