"""What there is to learn from, read from run folders: episodes with their steps, and search trees.

Trainers read nothing else. States are as agents saw them: without gold, with their history. What an episode earned is
its environment's reward, which is gold, so runs to learn from are runs on training tasks: see `splits`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from iad_policy.errors import GoldError
from iad_policy.ledger.episode import Episode
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.gc_pause import without_collector
from iad_policy.ledger.run import Run
from iad_policy.strategies.building_blocks.tree import Tree
from iad_policy.strategies.building_blocks.tree_record import grown
from iad_policy.trained.rows import Row
from iad_policy.types import Candidate, State, Turn
from iad_policy.types.hashing import digest
from iad_policy.world import DEFAULT_GOLD


@dataclass(frozen=True, slots=True)
class ExperienceStep:
    """A committed step of an episode.

    Attributes:
        state: The state before, as the agent saw it.
        committed: The candidate with the committed action.
        rejected: The other candidates of the decision that are actions and that the agent proposed in this state.
        reward: Reward of the step.
        done: Whether the episode ended with it.
    """

    state: State
    committed: Candidate
    rejected: tuple[Candidate, ...] = ()
    reward: float = 0.0
    done: bool = False

    @property
    def row(self) -> Row:
        """The committed action in its state."""
        return row_of(self.state, self.committed)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An episode.

    Attributes:
        run: Name of its run.
        record: Its line of `episodes.jsonl`.
        steps: Its steps, in order.
        trees: The search trees that grew in it, each from one of its states.
        end: The state after its last action, as a role would see it; None if it was not recorded.
    """

    run: str
    record: EpisodeRecord
    steps: tuple[ExperienceStep, ...]
    trees: tuple[Tree, ...] = ()
    end: State | None = None

    @property
    def task(self) -> str:
        """The task's id."""
        return self.record.task_id

    @property
    def reward(self) -> float:
        """Sum of the rewards."""
        return self.record.reward

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions in their canonical form, to tell equal episodes."""
        return tuple(step.committed.key for step in self.steps)

    @property
    def states(self) -> Iterator[State]:
        """The states that rows may be of."""
        yield from (step.state for step in self.steps)
        yield from (node.state for tree in self.trees for node in tree.nodes())
        if self.end is not None:
            yield self.end


@dataclass(frozen=True, slots=True)
class Origin:
    """A run that was read, as far as it matters for what may be learned from it.

    Attributes:
        name: Name of its folder.
        env: The environment's id.
        env_args: The arguments that it was made with.
        data: Digest of its data; "" for none.
        split: The split of its tasks; None where the run does not say, or the environment has none.
        information: The verifier's label.
    """

    name: str
    env: str
    env_args: Mapping[str, Any]
    data: str
    split: str | None
    information: str


@dataclass(frozen=True)
class Experience:
    """Episodes of one or more runs in one environment.

    Attributes:
        origins: The runs.
        trajectories: Their finished episodes, in the order of the runs.
    """

    origins: tuple[Origin, ...]
    trajectories: tuple[Trajectory, ...]

    @classmethod
    @without_collector()
    def of(cls, folders: Sequence[Path | str]) -> "Experience":
        """Read run folders. Damaged episodes are left out, with a warning.

        Raises:
            RunFolderError: A folder holds no run.
            ValueError: The runs are of different environments or data, or hold no finished episode.
        """
        found = cls.joined([_read(Run(folder)) for folder in folders])
        if not found.trajectories:
            raise ValueError(
                f"expected finished episodes in {', '.join(map(str, folders)) or 'run folders'}, got none; run `iad "
                "explore` or `iad run` first"
            )
        return found

    @classmethod
    def joined(cls, parts: Sequence["Experience"]) -> "Experience":
        """Return several experiences as one.

        Raises:
            ValueError: They are of different environments or data.
        """
        origins = tuple(origin for one in parts for origin in one.origins)
        for one in origins[1:]:
            if (one.env, one.data) != (origins[0].env, origins[0].data):
                raise ValueError(
                    f"expected runs in one environment with the same data, got {origins[0].name} in {origins[0].env} "
                    f"and {one.name} in {one.env}; train on each of them alone"
                )
        return cls(origins, tuple(trajectory for one in parts for trajectory in one.trajectories))

    @property
    def env(self) -> str:
        """The environment's id."""
        return self.origins[0].env

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """The tasks, each once."""
        return tuple(dict.fromkeys(one.task for one in self.trajectories))

    @property
    def trees(self) -> Iterator[tuple[str, Tree]]:
        """All trees, each with its task."""
        for one in self.trajectories:
            for tree in one.trees:
                yield one.task, tree

    @cached_property
    def digest(self) -> str:
        """A hash of everything that can change what is learned."""
        return digest(
            [
                (
                    (one.task, one.actions, one.reward, one.record.success, one.end and one.end.id),
                    [
                        [s.state.id, [(c.key, c.logprob, c.score) for c in (s.committed, *s.rejected)]]
                        for s in one.steps
                    ],
                    len(one.trees),
                )
                for one in self.trajectories
            ]
        )

    def only(self, trajectories: Sequence[Trajectory]) -> "Experience":
        """Return the same experience with some of its episodes."""
        return replace(self, trajectories=tuple(trajectories))


def row_of(state: State, candidate: Candidate) -> Row:
    """Return a candidate as something to train on, with what its language model was sent and said."""
    if not candidate.exchanges:
        return Row(state, candidate.action, logprob=candidate.logprob)
    last = candidate.exchanges[-1]
    return Row(state, candidate.action, last.prompt, last.text, candidate.logprob)


def _read(run: Run) -> Experience:
    config = run.config
    agents = [config["agent"]] if isinstance(config["agent"], str) else config["agent"]
    identities = config.get("identity", {})
    labels = {identities.get(agent, {}).get("information", "") for agent in agents}
    labels |= {"oracle" for agent in agents if identities.get(agent, {}).get("oracle_roles")}
    origin = Origin(
        run.folder.resolve().name,
        config["env"].rpartition(":")[2],
        config.get("env_args", {}),
        config.get("data", {}).get("digest", ""),
        config.get("tasks_of", config.get("split")),
        "oracle" if "oracle" in labels else "".join(sorted(labels)),
    )
    gold = frozenset(config.get("gold", DEFAULT_GOLD))
    limit = config.get("max_steps") or float("inf")
    scored = [key for key, record in run.records.items() if record.is_scored]

    def made(episode: Episode) -> Trajectory:
        return _trajectory(episode, origin.name, gold, limit)

    return Experience((origin,), tuple(trajectory for _, trajectory in run.readable(scored, made)))


def _trajectory(episode: Episode, run: str, gold: frozenset[str], limit: float) -> Trajectory:
    """Return an episode up to the first step that is not finished. States have no gold and their history."""
    history: tuple[Turn, ...] = ()
    end: State | None = None
    steps: list[ExperienceStep] = []
    trees: list[Tree] = []
    for place, step in enumerate(episode.steps):
        if step.before is None or not step.is_finished:
            end = None
            break
        info = _Public(step.before.info, gold)
        state = replace(step.before, info=info, history=history, steps_left=limit - place, done=False)
        committed = step.decision.committed
        if not committed.error:
            others = [
                one
                for one in step.decision.candidates
                if not one.error and one.key != committed.key and one.at == state.id
            ]
            chosen = replace(committed, key=committed.key or str(committed.action))
            done = step.after is not None and step.after.done
            steps.append(ExperienceStep(state, chosen, tuple(others), step.reward, done))
        trees += [grown(one.record, state, states=one.states, candidates=one.candidates) for one in step.trees]
        history = (*history, Turn(state.observation, step.action, state.info, committed.thought, committed.parts))
        end = step.after and replace(
            step.after, info=_Public(step.after.info, gold), history=history, steps_left=limit - place - 1
        )
    return Trajectory(run, episode.record, tuple(steps), tuple(trees), end)


class _Public(Mapping[str, Any]):
    """A recorded info without its gold: each part is read when it is asked for."""

    __slots__ = ("_gold", "_info")

    def __init__(self, info: Mapping[str, Any], gold: frozenset[str]) -> None:
        self._info = info
        self._gold = gold

    def __getitem__(self, name: str) -> Any:
        if name in self._gold:
            raise GoldError(f"expected a public info key, got {name!r}, which is gold; nothing is trained on it")
        return self._info[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._info if name not in self._gold)

    def __len__(self) -> int:
        return sum(1 for _ in self)
