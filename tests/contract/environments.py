"""Contract 1 as a suite: give it an environment and it holds it to the promises.

To run it on another environment, add a `Subject` to the list in `test_environments.py`.
"""

import copy
import json
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from iad_envs.core import IADEnv
from iad_envs.errors import UnknownTask
from iad_policy.types.hashing import decode, digest, encode

GARBAGE: Sequence[Any]
GARBAGE = ("", " ", "nonsense", "\x00\x1b[31m\x7f", "🦉" * 50, "\ud800", "x" * 1_000_000, None, 7, ["dig"])
ASYNC = {"shared_memory": False}
COPYING: Mapping[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
}


def spoil(value: Any) -> None:
    """Change everything that can be changed in place, innermost first."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value[...] = 0
    if isinstance(value, Mapping | list | tuple):
        for part in list(value.values() if isinstance(value, Mapping) else value):
            spoil(part)
    if isinstance(value, dict | list | set):
        with suppress(TypeError):  # what refuses changes can be shared
            value.clear()


def solution_of(env: "IADEnv[Any, Any]") -> list[str]:
    """The actions that solve the task of the episode that has begun, from its start."""
    solution: list[str] | None = env.oracle(env.snapshot())["solution"]
    assert solution is not None
    return solution


@dataclass(frozen=True)
class Subject:
    id: str  # as `gym.make` knows it
    walk: Callable[[dict[str, Any]], str]  # from info to an action that does not end the episode within four steps
    # Given a fresh environment, actions that solve its task; the last one is terminal.
    ending: Callable[["IADEnv[Any, Any]"], Sequence[str]] = solution_of
    exempt: Sequence[str] = ()  # task ids whose gold solution does not score 1
    lasting: str = ""  # a valid action that is irreversible; "" for one without such actions
    approach: Sequence[str] = ()  # actions that lead from the start of any task to where `lasting` is valid
    asking: str = ""  # an action after which only the world can go on; "" for one without such actions
    answer: str = ""  # how the world's answer to it begins
    open_end: bool = False  # whether the world ends the episode: a simulation of the last action awaits it
    arguments: Mapping[str, Any] = field(default_factory=dict)
    bound_by: str = ""  # what its episodes depend on, so that they can't be pickled; "" if they can

    def __str__(self) -> str:
        return self.id

    def make(self, **options: Any) -> "IADEnv[Any, Any]":
        return self.wrapped(**options).unwrapped  # type: ignore[return-value]

    def begun(self, seed: int, **options: Any) -> tuple["IADEnv[Any, Any]", dict[str, Any]]:
        env = self.make(**options)
        return env, env.reset(seed=seed)[1]

    def wrapped(self, **options: Any) -> "gym.Env[Any, Any]":
        return gym.make(self.id, **{**self.arguments, **options})


def same(one: Any, other: Any) -> bool:
    return json.dumps(encode(one)) == json.dumps(encode(other))


class EnvironmentContract:
    """The promises; a test class inherits them and gives a `subject` fixture."""

    def test_gymnasiums_checker_passes(self, subject: Subject) -> None:
        check_env(subject.make(), skip_render_check=False)

    def test_tasks_are_picked_by_seed_or_id_and_show_no_gold(self, subject: Subject) -> None:
        env, other = subject.make(), subject.make()
        picked, again = ([one.reset(seed=seed)[1]["task_id"] for seed in range(12)] for one in (env, other))
        assert picked == again != again[:1] * 12
        assert set(env.task_ids) <= set(env.tasks)
        assert len(env.tasks) == len(list(env.tasks))
        for task_id in [*list(env.tasks)[:5], *env.task_ids[:3]]:
            told = env.tasks[task_id]
            assert told._fields == ("instruction", "split", "difficulty")
            assert all(isinstance(part, str) for part in told)
            _, info = env.reset(options={"task_id": task_id})
            assert (info["task_id"], info["instruction"]) == (task_id, told.instruction)
            assert (task_id in env.task_ids) <= (env.split is None or told.split in ("", env.split))
        assert "no such task" not in env.tasks
        near = env.task_ids[0]
        for options, kind, words in (
            ({"task_id": "no such task"}, UnknownTask, ["no such task", "known"]),
            ({"task_id": f"{near}~"}, UnknownTask, [f"'{near}~'", "near", near]),
            ({"task": "x"}, ValueError, ["task", "known"]),
            ({"task_id": near, "colour": "red"}, ValueError, ["colour", "known"]),
        ):
            with pytest.raises(kind, match=".*".join(map(re.escape, words))):
                env.reset(options=options)

    def test_info_has_the_same_keys_and_types_in_every_step_and_survives_the_log(self, subject: Subject) -> None:
        env = subject.make()
        observation, info = env.reset(seed=1)
        shape = {key: type(value) for key, value in info.items()}
        public = {
            *re.findall(r"\w+", "task_id instruction available_actions invalid_action step stop_reason facts page")
        }
        assert set(shape) == public | env.GOLD_INFO
        values, infos = [observation, info], []
        for action in (subject.walk(info), "nonsense", *subject.ending(env), "too late"):
            outcome = env.simulate(env.snapshot(), action)
            assert {key: type(value) for key, value in outcome.info.items()} == {key: shape[key] for key in public}
            step = env.step(action)
            values += step if not infos else ()
            infos.append(step[4])
        assert all(digest(decode(json.loads(json.dumps(encode(value))))) == digest(value) for value in values)
        for info in infos:
            assert {key: type(value) for key, value in info.items()} == shape
            assert info["reward_parts"].keys() == infos[0]["reward_parts"].keys()
            assert 0 <= info["progress"] <= 1

    def test_simulating_never_moves_the_environment_and_is_the_step_unless_it_is_random(self, subject: Subject) -> None:
        still, busy = subject.make(), subject.make()
        seen = [env.reset(seed=3) for env in (still, busy)]
        for _ in range(4):
            assert same(seen[0], seen[1])
            info = seen[0][1]
            for action in (subject.walk(info), "nonsense", *subject.ending(busy)[:1]):
                ahead = busy.simulate(busy.snapshot(), action, draw=4)
                busy.simulate(ahead.token, action)
                busy.oracle(ahead.token)
            action = subject.walk(info)
            ahead = busy.simulate(busy.snapshot(), action)
            steps = [env.step(action) for env in (still, busy)]
            assert same(steps[0], steps[1])
            seen = [(step[0], step[4]) for step in steps]
            if not busy.STOCHASTIC:
                assert same(ahead.observation, seen[1][0])
                assert ahead.done == (steps[1][2] or steps[1][3])
                assert all(same(ahead.info[key], seen[1][1][key]) for key in ahead.info)

    def test_simulating_is_pure_and_memoised_and_its_result_the_callers_own(self, subject: Subject) -> None:
        (env, info), (still, _) = subject.begun(3), subject.begun(3)
        token, there, action = env.snapshot(), still.snapshot(), subject.walk(info)
        first, again = env.simulate(token, action), env.simulate(token, action)
        assert again.token == first.token  # the same moment: nothing was run twice
        assert same(again[1:], first[1:])
        for one in (token, first.token):
            shown = {name: getattr(one, name) for name in dir(one) if not name.startswith("_")}
            assert set(shown) == {"step", "terminated", "done", "is_awaiting"}
            assert all(isinstance(value, int) for value in shown.values())
            assert repr(one) == str(one) == f"Token(step={one.step}, done={one.done})"
            assert not hasattr(one, "__dict__")
            assert not is_dataclass(one)
        spoil([again[1:3], info])
        assert same(env.simulate(token, action)[1:], first[1:])
        spoil(env.simulate(token, action)[1:3])
        step = env.step(action)
        assert env.STOCHASTIC or same(step, still.step(action))  # a random step adopts no simulation
        assert same(env.simulate(token, action)[1:], still.simulate(there, action)[1:])

    def test_a_simulation_of_randomness_is_not_clairvoyant(self, subject: Subject) -> None:
        """Where nothing is random, every draw is what really happens."""
        env = subject.make()
        agreed, draws = [], []
        for seed in range(40 if env.STOCHASTIC else 2):
            _, info = env.reset(seed=seed)
            token, action = env.snapshot(), subject.walk(info)
            keys = [env.simulate(token, action, draw).key for draw in range(8)]
            assert keys == [env.simulate(env.snapshot(), action, draw).key for draw in range(8)]
            draws.append(len(set(keys)) > 1)
            real = env.step(action)[0]
            agreed.append(same(real, env.simulate(token, action).observation))
        assert any(draws) == env.STOCHASTIC
        assert 0 < sum(agreed) < len(agreed) if env.STOCHASTIC else all(agreed)

    def test_restoring_gives_back_the_same_observation_info_and_future(self, subject: Subject) -> None:
        env = subject.make()
        observation, info = env.reset(seed=3)
        token = env.snapshot()
        actions = [subject.walk(info)]
        futures = [[env.step(actions[0])]]
        for _ in range(2):
            actions.append(subject.walk(futures[0][-1][4]))
            futures[0].append(env.step(actions[-1]))
        assert same(env.restore(token), (observation, info))
        futures.append([env.step(action) for action in actions])
        assert same(futures[0], futures[1])

    def test_a_simulation_shows_no_gold_and_after_the_end_no_score(self, subject: Subject) -> None:
        """Of two tasks whose scores differ, what is seen at the end can't tell which is which."""
        env, _ = subject.begun(2)
        token = env.snapshot()
        for action in (actions := subject.ending(env)):
            outcome = env.simulate(token, action)
            assert not set(outcome.info) & env.GOLD_INFO
            token = outcome.token
        assert env.terminal(actions[-1]) != subject.open_end
        assert (outcome.done, not outcome.info["available_actions"]) == (True, True)
        assert outcome.info["stop_reason"] == ("awaiting" if subject.open_end else "done")
        shown = json.dumps(encode([outcome.observation, outcome.info]), default=str).lower()
        assert not re.search("reward|score", shown)

    def test_every_gold_solution_scores_1(self, subject: Subject) -> None:
        env = subject.make()
        for task_id in list(env.task_ids)[:60]:
            _, info = env.reset(options={"task_id": task_id})
            solution, reward = env.oracle(env.snapshot()).get("solution"), 0.0
            if env.STOCHASTIC and solution is None:  # where a way is random, no list of actions is a solution
                continue
            assert type(solution) is list
            assert all(type(action) is str and env.action_space.contains(action) for action in solution)
            for action in solution:
                _, reward, _, _, info = env.step(action)
            if task_id not in subject.exempt:
                assert (float(reward), info["progress"], info["success"]) == (1.0, 1.0, True), task_id
                assert env.why_failed() == ""

    def test_the_oracle_tells_what_the_step_tells_and_a_late_step_changes_nothing(self, subject: Subject) -> None:
        env, _ = subject.begun(2)
        for action in subject.ending(env):
            ahead = env.oracle(env.simulate(env.snapshot(), action).token)
            _, reward, terminated, truncated, last = env.step(action)
            assert not truncated
            if not env.STOCHASTIC:
                assert (ahead["progress"], ahead["reward_parts"]) == (last["progress"], last["reward_parts"])
                assert ahead["reward"] == reward or (subject.open_end and terminated)
            assert {"reward", "progress", "reward_parts", "reference"} <= set(ahead)
            why = env.why_failed()
            assert (why == "", why.isprintable(), len(why) <= 400) == (last["success"], True, True)
        assert terminated
        for action in (subject.walk(last) if last["available_actions"] else "", None):
            observation, reward, terminated, truncated, info = env.step(action)
            assert (reward, terminated, truncated, info["invalid_action"]) == (0.0, True, False, True)
            assert (info["step"], info["progress"]) == (last["step"], last["progress"])
            assert env.observation_space.contains(observation)

    def test_the_solution_is_found_when_it_is_read_and_is_the_same_all_along(self, subject: Subject) -> None:
        asked: list[Any] = []

        class Watched(type(subject.make())):  # type: ignore[misc]
            def _solution(self, task: Any) -> Any:
                asked.append(task.task_id)
                return super()._solution(task)

        env = Watched(**subject.arguments)
        _, info = env.reset(seed=2)
        gold = env.oracle(env.snapshot())
        assert "solution" not in gold
        assert not asked or Watched._reference is IADEnv._reference  # which is the solution
        solution = gold["solution"]
        assert asked == [info["task_id"]]
        if solution is not None:
            solution = list(solution)
            spoil(gold)  # which is the caller's own
            env.step(solution[0])
            again = env.oracle(env.snapshot())
            assert again.get("solution") == solution != []
            assert copy.deepcopy(again) == pickle.loads(pickle.dumps(again)) == dict(again)
            assert len(asked) == 1
        other = next(task_id for task_id in env.task_ids if task_id != info["task_id"])
        env.reset(options={"task_id": other})
        assert type(env.oracle(env.snapshot())["solution"]) is type(solution)
        assert asked[1:] == [other]
        env.close()

    def test_the_step_limit_truncates(self, subject: Subject) -> None:
        env, info = subject.begun(1, max_steps=2)
        action = subject.walk(info)
        _, _, terminated, truncated, info = env.step(action)
        assert (terminated, truncated, info["stop_reason"]) == (False, False, "")
        assert env.simulate(env.snapshot(), action).done
        _, _, terminated, truncated, info = env.step(subject.walk(info))
        assert (terminated, truncated, info["stop_reason"], info["step"]) == (False, True, "max_steps", 2)
        with pytest.raises(ValueError, match="max_steps"):
            subject.make(max_steps=0)

    def test_a_render_mode_that_it_lacks_means_none_and_nothing_works_before_reset(self, subject: Subject) -> None:
        kind = type(subject.make())
        with pytest.warns(UserWarning, match="render_mode .*ansi.*'oil painting'"):
            env = kind(**subject.arguments, render_mode="oil painting")
        assert env.render_mode is None
        assert kind(**subject.arguments, render_mode="ansi").render_mode == "ansi"
        for call in (env.snapshot, lambda: env.step("x")):
            with pytest.raises(gym.error.ResetNeeded, match="reset"):
                call()
        env.reset(seed=0)
        assert env.render() is None

    def test_a_bad_action_is_an_observation(self, subject: Subject) -> None:
        env, info = subject.begun(1)
        good = subject.walk(info)
        with_nul = (f"{good}\0", f"\0{good}", f"{good[:3]}\0{good[3:]}")
        for action in (*GARBAGE, *with_nul):
            env.reset(options={"task_id": info["task_id"]})
            ahead = env.simulate(env.snapshot(), action)
            observation, reward, terminated, truncated, after = env.step(action)
            assert (terminated, truncated, after["invalid_action"], after["step"]) == (False, False, True, 1)
            assert env.observation_space.contains(observation)
            assert same(ahead.observation, observation)
            text = json.dumps(encode(observation))
            assert ("NUL" if action in with_nul else "expected") in text
            assert len(text) < 100_000
            assert reward == 0.0 or action not in with_nul

    def test_only_terminal_actions_end_an_episode_before_the_step_limit(self, subject: Subject) -> None:
        env, info = subject.begun(2)
        for action in (*info["available_actions"], "nonsense"):  # keys are lasting, and equal for equal actions
            key = env.action_key(action)
            assert env.action_key(key) == key
            assert env.terminal(key) is env.terminal(action)
            assert env.irreversible(key) is env.irreversible(action)
        for last in subject.ending(env):
            tried = [last, subject.walk(info), *info["available_actions"], *(one for one in GARBAGE if one)]
            for action in filter(env.action_space.contains, tried):
                ends = env.simulate(env.snapshot(), action).info["stop_reason"] == "done"
                assert not ends or env.terminal(action), action
            _, _, terminated, _, info = env.step(last)
            assert not terminated or env.terminal(last) or subject.open_end
        assert terminated

    def test_after_an_irreversible_action_a_simulation_goes_on(self, subject: Subject) -> None:
        env, info = subject.begun(1)
        if not subject.lasting:
            assert not any(map(env.irreversible, (subject.walk(info), "nonsense")))
            return
        assert [env.irreversible(action) for action in (subject.lasting, "nonsense")] == [True, False]
        for action in subject.approach:
            env.step(action)
        outcome = env.simulate(env.snapshot(), subject.lasting)
        assert (outcome.done, outcome.info["invalid_action"], not outcome.info["available_actions"]) == (False,) * 3

    def test_where_only_the_world_can_go_on_a_simulation_stops_and_the_episode_goes_on(self, subject: Subject) -> None:
        env, info = subject.begun(1)
        if not subject.asking:
            actions = [subject.walk(info), *subject.ending(env)]
            ends = {env.simulate(env.snapshot(), action).info["stop_reason"] for action in actions}
            assert subject.open_end or "awaiting" not in ends
            return
        before, gold = env.snapshot(), env.oracle(env.snapshot())
        ahead = env.simulate(before, subject.asking)
        assert (ahead.done, ahead.info["stop_reason"]) == (True, "awaiting")
        assert subject.answer not in json.dumps(encode([ahead.observation, ahead.info]))
        assert env.simulate(ahead.token, subject.asking)[:2] == ahead[:2]
        assert env.oracle(ahead.token)["progress"] == gold["progress"]
        with pytest.raises(ValueError, match="awaits"):
            env.restore(ahead.token)
        assert not env.is_answered
        observation, reward, terminated, truncated, info = env.step(subject.asking)
        assert (terminated, truncated, info["stop_reason"], info["step"]) == (False, False, "", 1)
        assert subject.answer in json.dumps(encode(observation))
        assert env.oracle(env.snapshot())["reward"] == float(reward)
        assert env.is_answered
        env.step(subject.walk(info))
        assert not env.is_answered
        env.restore(before)
        again = env.step(subject.asking)
        assert same((again[0], again[4]), (observation, info))
        env, _ = subject.begun(1, max_steps=1)  # at whose limit an episode is over and does not await
        assert env.simulate(env.snapshot(), subject.asking).info["stop_reason"] == "max_steps"
        _, _, terminated, truncated, info = env.step(subject.asking)
        assert (terminated, truncated, info["stop_reason"]) == (False, True, "max_steps")

    @pytest.mark.parametrize("way", COPYING)
    def test_a_copy_goes_on_like_the_original(self, subject: Subject, way: str) -> None:
        env: Any = subject.wrapped()
        _, info = env.reset(seed=3)
        original = env.unwrapped
        original.action_space = copy.deepcopy(original.action_space)
        original.action_space.seed(4)
        for _ in range(2):
            *_, info = env.step(subject.walk(info))
        if way == "pickle" and subject.bound_by:
            with pytest.raises(TypeError, match=rf"{subject.bound_by}.*before the first step, .*copy\.deepcopy"):
                pickle.dumps(env)
            return
        other = COPYING[way](env)
        copied = other.unwrapped
        assert (other.spec, copied.np_random_seed) == (env.spec, original.np_random_seed)
        assert copied.np_random is not original.np_random
        assert copied.action_space.sample() == original.action_space.sample()
        golds = [one.oracle(one.snapshot()) for one in (original, copied)]
        assert same(*golds)
        futures = []
        for one in (env, other):
            known, steps, inner = info, [], one.unwrapped
            for _ in range(2):
                action = subject.walk(known)
                if not inner.STOCHASTIC:  # else the simulation is no promise
                    token = inner.snapshot()
                    assert same(inner.simulate(token, action).observation, one.step(action)[0])
                    inner.restore(token)
                steps.append(one.step(action))
                known = steps[-1][4]
            steps += [one.step("nonsense"), one.reset(), one.reset(options={"task_id": info["task_id"]})]
            futures.append(steps)
            spoil(copy.deepcopy(steps))
        assert same(futures[0], futures[1])
        env.close()
        other.close()

    @pytest.mark.parametrize("way", COPYING)
    def test_a_copy_before_the_start_and_after_the_end_is_like_the_original(self, subject: Subject, way: str) -> None:
        env = subject.make()
        fresh = COPYING[way](env)
        with pytest.raises(gym.error.ResetNeeded):
            fresh.snapshot()
        assert same(fresh.reset(seed=2), env.reset(seed=2))
        begun = COPYING[way](env)
        actions = subject.ending(env)
        assert same([begun.step(action) for action in actions], [env.step(action) for action in actions])
        if way == "deepcopy" or not subject.bound_by:
            over = COPYING[way](env)
            assert same(over.step("too late"), env.step("too late"))
            assert same(over.reset(), env.reset())
        for one in (fresh, begun, env, env):  # closing twice is harmless
            one.close()

    def test_a_copy_is_not_moved_by_the_original_nor_moves_it(self, subject: Subject) -> None:
        (env, info), (still, _) = subject.begun(3), subject.begun(3)
        action = subject.walk(info)
        for one in (env, still):
            one.step(action)
        token = env.snapshot()
        other = copy.deepcopy(env)
        here = env.restore(token)
        assert same(other.restore(token), here)  # moments never change, so the copy knows the original's
        spoil(env.reset(seed=9))
        env.close()
        action = subject.walk(here[1])
        assert same(other.step(action), still.step(action))
        assert same(other.reset(), still.reset())
        for one in (other, still):
            one.close()

    @pytest.mark.parametrize(("mode", "options"), [("sync", None), ("async", ASYNC)])
    def test_it_works_in_vectors(self, subject: Subject, mode: str, options: Any) -> None:
        made = {"num_envs": 2, "vectorization_mode": mode, **subject.arguments}
        envs = gym.make_vec(subject.id, vector_kwargs=options, **made)
        try:
            _, infos = envs.reset(seed=[6, 7])
            alone, info = subject.begun(6)
            assert infos["task_id"][0] == info["task_id"]
            action = subject.walk(info)
            observations, _, _, _, infos = envs.step(np.array([action, action], dtype=object))
            assert same(_first(observations), alone.step(action)[0])
            assert infos["step"].tolist() == [1, 1]
        finally:
            envs.close()
        if mode == "async":
            with pytest.raises(Exception, match="shared"):
                gym.make_vec(subject.id, **made).close()

    def test_its_spec_pickles_and_makes_it_again(self, subject: Subject) -> None:
        env = subject.wrapped()
        assert (spec := env.spec)
        assert same(gym.make(pickle.loads(pickle.dumps(spec))).reset(seed=4), env.reset(seed=4))
        assert gym.envs.registration.EnvSpec.from_json(spec.to_json()).id == spec.id


def _first(observations: Any) -> Any:
    if isinstance(observations, dict):
        return {key: _first(part) for key, part in observations.items()}
    return observations[0]
