"""An episode as a conversation in which answers can be tried, with snapshots to go back to, before anything is done.

It is what strategies do in a process of ours, for clients elsewhere: propose, look at what comes of it, go back, and
commit what is best. A trial is a simulation, so it shows what `simulate` may show, and neither scores nor the world's
answers.
"""

import secrets
from dataclasses import replace
from typing import Any

from iad_policy.bridges.chat import Chat, Moment, parts_of
from iad_policy.errors import ContractError
from iad_policy.prompts import prompts_of
from iad_policy.types import State
from iad_policy.types.hashing import digest

TRIAL_OVER = "The trial ends here. Restore a snapshot, or commit what was tried."
"""What is said to an answer after the end of a trial."""


class TrialChat(Chat):
    """A conversation whose answers are simulated from the first snapshot on, until they are committed.

    Args:
        env: The id of an environment, or an environment: see `Chat`.
        style: How the model is asked.
        snapshots: How many snapshots are kept at a time. None can be taken by default.
        oracle: Whether `last_reward` is told in trials, too. Whoever is told knows gold, and the outcome says so.
        env_args: Arguments of the environment made by id.
    """

    def __init__(
        self, env: Any, style: str | None = None, *, snapshots: int = 0, oracle: bool = False, **env_args: Any
    ) -> None:
        super().__init__(env, style, **env_args)
        self._most = snapshots
        self.tells_rewards = oracle
        self._snapshots: dict[str, Moment] = {}
        self._trial: Moment | None = None

    @property
    def is_trial(self) -> bool:
        """Whether answers are simulated, as a snapshot was taken since the last commit."""
        return self._trial is not None

    @property
    def trial_ended(self) -> bool:
        """Whether nothing more can be tried: the task would be over, or only the world can go on."""
        return self._trial is not None and self._trial.state.done

    def begin(self, *, task_id: str | None = None, seed: int | None = None) -> list[dict[str, Any]]:
        """Start an episode: see `Chat.begin`. It drops the trial and the snapshots of the one before."""
        messages = super().begin(task_id=task_id, seed=seed)
        self._leave()
        return messages

    def snapshot(self) -> str:
        """Keep this moment and return its id. From here on answers are tried, not done.

        Raises:
            ContractError: The episode is over, or there are as many snapshots as may be kept.
            SimulationError: The environment can't be simulated.
        """
        if not self._most:
            raise ContractError(
                "expected a server that takes snapshots, got one that takes none; start it with --snapshots 8"
            )
        if self.state.done:
            raise ContractError("expected a task that goes on, got one that is over; begin another one")
        if len(self._snapshots) >= self._most:
            raise ContractError(
                f"expected at most {self._most} snapshots at a time, got one more; restore one of "
                f"{', '.join(self._snapshots)}, or commit, which frees them"
            )
        self._trial = self._moment()
        name = secrets.token_hex(4)  # so that a snapshot of another session is not taken for one of this
        self._snapshots[name] = self._trial
        return name

    def restore(self, snapshot: str) -> str:
        """Go back to a snapshot and return the user's turn there. It is still a trial.

        Raises:
            ContractError: This episode has no such snapshot.
        """
        if snapshot not in self._snapshots:
            known = ", ".join(self._snapshots) or "none: a commit and a new task free them"
            raise ContractError(f"expected a snapshot of this task, got {snapshot!r:.40}; known: {known}")
        self._trial = self._snapshots[snapshot]
        return self._told(self._trial)

    def say(self, answer: str, *, finish_reason: str = "stop") -> str:
        """Commit the action of an answer, or simulate it in a trial, and return the user's next turn.

        In a trial an answer that is no action changes nothing, and `last_reward` is 0 unless rewards are told.
        """
        at = self._trial
        if at is None:
            return super().say(answer, finish_reason=finish_reason)
        self.last_reward = 0.0
        if at.state.done:
            return TRIAL_OVER
        candidate = self._agent.read(answer, at.state, finish_reason=finish_reason)
        if candidate.error:
            return f"{candidate.error}\n\n{self._told(at)}"
        self._trial = self._after(at, candidate)
        if self.tells_rewards:
            assert self._episode is not None
            self.last_reward = float(self._episode.world.oracle(self._trial.token)["reward"])
            self.outcome = self.outcome._replace(oracle=True)
        return self._told(self._trial)

    def preview(self, answer: str) -> str:
        """Return what would be seen after an answer's action, here or in the trial: see `Chat.preview`."""
        return TRIAL_OVER if self.trial_ended else super().preview(answer)

    def commit_tried(self) -> str:
        """Do what was tried since the last commit, and return the user's next turn. It ends the trial.

        `last_reward` is the sum of the rewards. Where the world comes to show something else than the trial did, the
        rest is not done: it was chosen for what the trial showed.

        Raises:
            ContractError: There is no trial.
        """
        at = self._trial
        if at is None:
            raise ContractError("expected a snapshot before commit, got none; call snapshot, or act without a trial")
        self._leave()
        reward, text, n_done = 0.0, self._turn(self.state), 0
        for candidate, shown in at.tried:
            self.candidate = candidate
            text, n_done = self._committed(candidate, candidate.action), n_done + 1
            reward += self.last_reward
            if self.done or digest(self.state.observation) != digest(shown.observation):
                break
        self.last_reward = reward
        if n_done == len(at.tried):
            return text
        return f"{n_done} of {len(at.tried)} actions were done: what came of them is not what was tried.\n\n{text}"

    def _moment(self) -> Moment:
        return super()._moment() if self._trial is None else self._trial

    def _turn(self, state: State) -> str:
        """Return the user's turn in a state: the first one has no turn before it."""
        if state.history:
            return self._agent.next_turn(state)
        first = parts_of(message for message in self._agent.messages(state) if message["role"] != "system")
        return "\n\n".join(part["text"] for part in first if part["type"] == "text")

    def _leave(self) -> None:
        self._trial = None
        self._snapshots.clear()

    def _told(self, at: Moment) -> str:
        """Return the user's turn at a moment: the same as after a commit, but for the end."""
        if not at.state.done:
            return self._turn(at.state)
        candidate, state = at.tried[-1]
        return prompts_of(self.env).rendering.candidate(replace(candidate, preview=state))
