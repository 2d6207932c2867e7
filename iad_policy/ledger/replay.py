"""An agent that replays recorded answers: those of a run, or of systems that published theirs. No model is asked."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Protocol

import gymnasium as gym

from iad_policy.errors import IADError
from iad_policy.ledger.episode_record import NOT_RECORDED
from iad_policy.ledger.predictions.formats import format_of
from iad_policy.ledger.predictions.prediction_files import RecordedAttempt, files_of, read_predictions
from iad_policy.registry.domain import env_id
from iad_policy.types import NOTHING, Candidate, Feedback, LoadedAgent, State
from iad_policy.types.call_context import current_call
from iad_policy.types.hashing import digest

FOLDER = "predictions"


class NotRecorded(IADError):
    """A question was asked that the recording has no answer to."""

    kind = NOT_RECORDED


class Recording(Protocol):
    """Recorded answers."""

    @property
    def identity(self) -> str:
        """A text that identifies them."""

    @property
    def information(self) -> str:
        """Label `oracle` if whoever gave them saw gold."""

    def answer(self, state: State, feedback: Feedback | None, rng: Random) -> Candidate | None:
        """Return the answer to the question of the current call; None where there is none."""
        ...


class Replay:
    """Answers with what was recorded.

    Args:
        recording: The recorded answers.
        asks: Agent that is asked what was not recorded; None for none.
        takes_feedback: Whether the agent that gave the answers took feedback.
    """

    def __init__(self, recording: Recording, asks: LoadedAgent | None = None, *, takes_feedback: bool = True) -> None:
        self.takes_feedback = takes_feedback
        self.identity = recording.identity
        self.information = recording.information
        self.model: Any = None if asks is None else asks.model  # roles use it too, and it is released with the agent
        self.trained_on: Mapping[str, Any] | None = None
        self._recording = recording
        self._asks = asks

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Any:
        """Return the recorded answer to this question.

        Raises:
            NotRecorded: There is none, and no agent to ask.
        """
        found = self._recording.answer(state, feedback, rng)
        if found is not None:
            return found
        if self._asks is None:
            raise NotRecorded(
                "expected a question that was asked in the run, got another one, to which another choice has led; ask "
                "the agent from here on: --ask"
            )
        return self._asks.propose(state, feedback=feedback, temperature=temperature, rng=rng)


class RecordedProposals:
    """The proposals of a run. The same question gets the same answer.

    Args:
        candidates: Digest of a question -> the candidate that answered it.
        identity: A text that identifies the run's agent: they are that agent's answers.
        information: Label `oracle` if that agent saw gold.
    """

    def __init__(self, candidates: Mapping[str, Candidate], identity: str, information: str = "") -> None:
        self.identity = identity
        self.information = information
        self._candidates = candidates

    def answer(self, state: State, feedback: Feedback | None, rng: Random) -> Candidate | None:
        """Return the recorded candidate, and report what it cost."""
        call = current_call()
        found = self._candidates.get(digest(call.question, call.sample_index))
        if found is None:
            return None
        call.report(found.usage._replace(proposals=0))  # the driver counts the proposal itself
        call.exchanges.extend(found.exchanges)
        return replace(found, usage=NOTHING, feedback=None, key="", id="", at="")  # the driver and the log give these


class RecordedSystems:
    """The attempts of systems that published them: each once, in an order drawn per task.

    Sample i is the answer of system i, and starts over after the last one. In later steps, only systems go on whose
    actions are those that were committed. A recording can't be refined: with feedback, the next answer is one that
    differs from the best and worst candidates in it.

    Args:
        systems: Name of a system -> task -> its attempts.
    """

    information = ""

    def __init__(self, systems: Mapping[str, Mapping[str, Sequence[RecordedAttempt]]]) -> None:
        self._systems = systems

    @property
    def identity(self) -> str:
        """Everything the answers depend on: the recorded attempts."""
        named = {
            name: {task: [one.actions for one in own] for task, own in tasks.items()}
            for name, tasks in self._systems.items()
        }
        return f"replay {digest(named)}"

    def answer(self, state: State, feedback: Feedback | None, rng: Random) -> Candidate:
        """Return the next system's answer."""
        task = state.info["task_id"]
        answers = list(self._next_actions(task, [turn.action for turn in state.history]))
        if not answers:
            return Candidate(None, error=f"expected a prediction for task {task} in a file, found none")
        call = current_call()
        Random(f"{call.stream}:{task}").shuffle(answers)
        shown = () if feedback is None else (feedback.best, feedback.worst)
        seen = [candidate.action for candidate in shown if candidate is not None]
        place = call.sample_index if feedback is None else rng.randrange(len(answers))
        turned = answers[place % len(answers) :] + answers[: place % len(answers)]
        name, action = next((one for one in turned if one[1] not in seen), turned[0])
        return Candidate(action, thought=f"as {name} answered")

    def _next_actions(self, task: str, done: list[Any]) -> Iterator[tuple[str, Any]]:
        for name, tasks in self._systems.items():
            for one in tasks.get(task, ()):
                if one.answer is not None:
                    yield name, one.actions[0]
                elif list(one.actions[: len(done)]) == done and len(one.actions) > len(done):
                    yield name, one.actions[len(done)]


def replay_agent(env: gym.Env[Any, Any], path: str | Path | None = None) -> Replay:
    """Replays predictions and recorded actions, in the forms that `iad score` reads: `replay:<file>`.

    Args:
        env: The environment.
        path: A file, or a folder of files. By default it is `predictions/` in the environment's data.

    Raises:
        FileNotFoundError: There is no such file, or none in the folder.
        ValueError: A file has no attempt at a task of the environment.
    """
    return Replay(RecordedSystems(read_systems(env, path)))


def read_systems(env: gym.Env[Any, Any], path: str | Path | None = None) -> dict[str, dict[str, list[RecordedAttempt]]]:
    """Return the attempts in prediction files by system, which is the file's name, and task. See `replay_agent`."""
    inner: Any = env.unwrapped
    if path is None and not hasattr(inner, "data"):
        raise FileNotFoundError(
            f"expected the file that is to be replayed in {env_id(env)}, got none; pass --agent replay:PATH"
        )
    form = format_of(env_id(env))(env)
    systems: dict[str, dict[str, list[RecordedAttempt]]] = {}
    for file in files_of(Path(inner.data.folder) / FOLDER if path is None else Path(path), form):
        read = read_predictions(file, form, getattr(inner, "tasks", ()))
        if not read.attempts:
            raise ValueError(
                f"expected predictions for tasks of {env_id(env)} in {file}, got none{_first(read.problems)}; name "
                "another file: --agent replay:PATH"
            )
        if read.problems:
            warnings.warn(f"{len(read.problems)} parts of {file} can't be read{_first(read.problems)}", stacklevel=2)
        for one in read.attempts:
            systems.setdefault(one.arm or file.stem, {}).setdefault(one.task_id, []).append(one)
    return systems


def _first(problems: Sequence[str]) -> str:
    return f" ({problems[0]})" if problems else ""
