"""Runs unchanged strategies on a third-party text game, Colossal Cave (1977). Needs: pip install -e '.[games]'."""

import random

import gymnasium as gym
from adventure import load_advent_dat
from adventure.game import Game

from iad_envs.spaces import UnicodeText
from iad_policy import IADPolicyWrapper, Verdict

COMMANDS = ("north", "south", "east", "west", "up", "down", "enter", "out", "unlock grate", "on")


class ColossalCave(gym.Env):
    """The game as an environment that rolls the game's dice itself. A room seen for the first time gives reward 1."""

    observation_space = action_space = UnicodeText(10_000)

    def reset(self, *, seed=None, options=None):
        """Start at the end of the road, without instructions."""
        super().reset(seed=seed)
        self.game, self.rooms = Game(), {1}
        load_advent_dat(self.game)
        self.game.start()
        return self.game.do_command(["no"]), {"available_actions": COMMANDS}

    def step(self, action):
        """Enter a command. A question, such as the one after a death, ends the episode."""
        self.game.random_generator = random.Random(int(self.np_random.integers(2**32)))
        text, room = self.game.do_command(action.lower().split() or ["look"]), self.game.loc.n
        reward, self.rooms = float(room not in self.rooms), self.rooms | {room}
        here = [f"get {thing.names[0]}" for thing in self.game.objects_here]
        is_over = self.game.is_finished or self.game.yesno_callback is not None
        return text, reward, is_over, False, {"available_actions": (*COMMANDS, *here)}


class Curious:
    """Scores the share of new lines, that is, of lines not read before."""

    information, needs_preview = "proxy", True

    def verify(self, state, candidates):
        """Compare each candidate's preview with the lines read so far."""
        known = {line for turn in (*state.history, state) for line in turn.observation.splitlines()}
        pages = [{*candidate.preview.observation.splitlines()} for candidate in candidates]
        return [Verdict(len(page - known) / len(page)) for page in pages]


cave = gym.wrappers.TimeLimit(ColossalCave(), 40)
for strategy in ("single", "bon", "iad", "mcts"):
    policy = IADPolicyWrapper("random", cave, strategy=strategy, n=4, verifier=Curious())
    (observation, info), done = cave.reset(seed=0), False
    while not done:
        observation, _, terminated, truncated, info = cave.step(policy.act(observation, info))
        done = terminated or truncated
    n_rooms, n_simulations = len(cave.unwrapped.rooms), policy.usage.simulations
    print(f"{strategy:8} saw {n_rooms} rooms in 40 commands, with {n_simulations} simulations")
