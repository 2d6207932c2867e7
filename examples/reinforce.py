"""Train a policy on the shop with REINFORCE: a linear softmax over the actions of a page, in numpy.

A wrapper turns text into numbers: every available action becomes a row of features, and the policy chooses a row. The
result is like any other environment, and `gym.make_vec` makes vectors of it. Features use only what an agent may see,
and the reward is the environment's. docs/training.md explains it.
Run: python examples/reinforce.py [--episodes 20000] [--seeds 0 1 2] [--mode async] [--picture curve.png] [--compare]
"""

import argparse
import time

import gymnasium as gym
import numpy as np

import iad_envs  # noqa: F401 (registers IAD/...)
from iad_envs.webshop.policy.features import ShopFeatures
from iad_policy import State, evaluate

ENVIRONMENT, MAX_ACTIONS = "IAD/WebShop-v0", 32
LEARNING_RATE, DISCOUNT, ENTROPY_BONUS, BATCH = 0.1, 0.99, 0.07, 64  # episodes for an update
SHOP = ShopFeatures()  # what an action is in numbers: 26 features of the page and the instruction
FEATURES = ("offered", *SHOP.names)


def read(info):
    """Return the actions of a page, and their features in rows. Rows without an action are 0."""
    state = State(None, info)
    actions = SHOP.actions(state)[:MAX_ACTIONS]
    rows = np.zeros((MAX_ACTIONS, len(FEATURES)), np.float32)
    rows[: len(actions), 0] = 1
    rows[: len(actions), 1:] = SHOP.rows(state, actions)
    return actions, rows


class Rows(gym.Wrapper):
    """The environment as numbers: an observation is a table of features, and an action is the number of a row.

    The number of a row without an action is an invalid action: it costs a step.
    """

    observation_space = gym.spaces.Box(-np.inf, np.inf, (MAX_ACTIONS, len(FEATURES)), np.float32)
    action_space = gym.spaces.Discrete(MAX_ACTIONS)

    def reset(self, *, seed=None, options=None):
        """Start an episode. `info` stays here, as a vector would merge the pages of all environments key by key."""
        _, info = self.env.reset(seed=seed, options=options)
        self.actions, rows = read(info)
        return rows, {}

    def step(self, row):
        """Take the action in a row."""
        action = self.actions[row] if row < len(self.actions) else f"row {row}"
        _, reward, terminated, truncated, info = self.env.step(action)
        self.actions, rows = read(info)
        return rows, reward, terminated, truncated, {}


def probabilities(rows, weights):
    """Return the probability of each row: softmax(rows @ weights) over the available ones."""
    logits = np.where(rows[..., 0] > 0, rows @ weights, -np.inf)
    odds = np.exp(logits - logits.max(-1, keepdims=True))
    return odds / odds.sum(-1, keepdims=True)


def gradients(rows, likely, taken):
    """Return, for each environment, the gradients of log p(taken) and of the entropy with respect to the weights."""
    mean = np.einsum("na,naf->nf", likely, rows)
    plogp = likely * np.log(np.where(likely > 0, likely, 1))
    entropy = plogp.sum(-1, keepdims=True) * mean - np.einsum("na,naf->nf", plogp, rows)
    return rows[np.arange(len(rows)), taken] - mean, entropy


def train(seed, n_episodes, *, num_envs=16, mode="sync"):
    """Train with REINFORCE, and return the weights and the rewards of the episodes in order."""
    vector = {"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP}  # no step is lost on a reset
    envs = gym.make_vec(ENVIRONMENT, num_envs, mode, vector, [Rows], split="train", progress="off")
    rng = np.random.default_rng(seed)
    weights, first, second = np.zeros((3, len(FEATURES)))
    traces, steps = np.zeros((num_envs, len(FEATURES))), np.zeros(num_envs)  # of the episodes under way
    rewards, batch, bonuses, baseline, n_updates = [], [], [], 0.0, 0
    rows, _ = envs.reset(seed=seed)
    while len(rewards) < n_episodes:
        likely = probabilities(rows, weights)
        taken = (likely.cumsum(-1) > rng.random((num_envs, 1))).argmax(-1)
        log_gradients, entropy_gradients = gradients(rows, likely, taken)
        traces, steps = traces + log_gradients, steps + 1
        bonuses.append(entropy_gradients.mean(0))
        rows, reward, terminated, truncated, _ = envs.step(taken)
        for i in np.flatnonzero(terminated | truncated):  # only the last step has a reward
            rewards.append(reward[i])
            batch.append((DISCOUNT ** steps[i] * reward[i], traces[i].copy()))
            traces[i] = steps[i] = 0
        if len(batch) >= BATCH:
            ascent = np.mean([(value - baseline) * trace for value, trace in batch], 0)
            ascent += ENTROPY_BONUS * max(0, 1 - len(rewards) / n_episodes) * np.mean(bonuses, 0)
            baseline += 0.2 * (np.mean([value for value, _ in batch]) - baseline)
            n_updates, first, second = n_updates + 1, 0.9 * first + 0.1 * ascent, 0.99 * second + 0.01 * ascent**2
            scale = np.sqrt(second / (1 - 0.99**n_updates)) + 1e-8  # Adam's
            weights = weights + LEARNING_RATE * first / (1 - 0.9**n_updates) / scale
            batch, bonuses = [], []
    envs.close()
    return weights, np.array(rewards[:n_episodes])


def play(weights, *, is_greedy, seed=0, split="test"):
    """Return the rewards of a split's tasks, with one episode each."""
    env, rng, rewards = Rows(gym.make(ENVIRONMENT, split=split)), np.random.default_rng(seed), []
    for task_id in env.unwrapped.task_ids:
        (rows, _), done = env.reset(options={"task_id": task_id}), False
        while not done:
            likely = probabilities(rows, weights)
            row = likely.argmax() if is_greedy else (likely.cumsum() > rng.random()).argmax()
            rows, reward, terminated, truncated, _ = env.step(row)
            done = terminated or truncated
        rewards.append(reward)
    return np.array(rewards)


def agent_of(weights):
    """Return the policy as an agent for `IADPolicyWrapper` and `evaluate`: a function of observation and info."""

    def trained(observation, info, temperature, rng):
        actions, rows = read(info)
        heat = 1.0 if temperature is None else max(temperature, 1e-3)
        return rng.choices(actions, probabilities(rows[: len(actions)], weights / heat))[0]

    return trained


def line(name, rewards):
    """Print the mean reward over seeds (seeds, episodes), the lowest and highest seed, and the successes."""
    each = np.mean(rewards, -1)
    bar = "#" * round(40 * each.mean())
    print(f"{name:>18}  {each.mean():.3f} [{each.min():.3f},{each.max():.3f}]  {np.mean(rewards == 1):.3f}  {bar}")


def draw(curves, path):
    """Write the learning curve of several seeds as a picture."""
    from matplotlib.figure import Figure

    window = max(1, curves.shape[1] // 40)
    smooth = np.array([np.convolve(curve, np.full(window, 1 / window), "valid") for curve in curves])
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes, episodes = figure.subplots(), np.arange(window, curves.shape[1] + 1)
    axes.fill_between(episodes, smooth.min(0), smooth.max(0), alpha=0.25, label="lowest and highest of them")
    axes.plot(episodes, smooth.mean(0), label=f"mean of {len(curves)} seeds")
    axes.set(xlabel="episodes", ylabel=f"reward, last {window}", ylim=(0, 1), title=f"REINFORCE on {ENVIRONMENT}")
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=110)


def main():
    """Train, show the curve, test on new tasks, and compare with strategies if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--episodes", type=int, default=4000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--num-envs", type=int, default=16)
    parser.add_argument("--mode", choices=("sync", "async"), default="sync")
    parser.add_argument("--picture", help="a PNG for the learning curve; needs matplotlib")
    parser.add_argument(
        "--compare", action="store_true", help="also run best-of-n and iad with the first seed's policy as their agent"
    )
    asked = parser.parse_args()
    began = time.perf_counter()
    runs = [train(seed, asked.episodes, num_envs=asked.num_envs, mode=asked.mode) for seed in asked.seeds]
    curves = np.array([rewards for _, rewards in runs])
    print(f"{curves.size} episodes in {time.perf_counter() - began:.0f} s, seeds {asked.seeds}\n")
    print("    training until  reward [of seeds]    success")
    for part in np.array_split(np.arange(curves.shape[1]), 16):
        line(part[-1] + 1, curves[:, part])
    print("    held-out tasks")
    line("uniformly random", np.array([play(0 * runs[0][0], is_greedy=False, seed=seed) for seed in asked.seeds]))
    line("trained, sampled", np.array([play(run[0], is_greedy=False) for run in runs]))
    line("trained, greedy", np.array([play(run[0], is_greedy=True) for run in runs]))
    if asked.picture:
        draw(curves, asked.picture)
    if asked.compare:
        agent, strategies = agent_of(runs[0][0]), ["single", "bon", "iad"]
        print(evaluate(ENVIRONMENT, strategies, tasks=200, n=3, seed=(0, 1, 2), agent=agent, baseline="single").table())


if __name__ == "__main__":
    main()
