"""`IAD/InterCodeBash-v0`: a shell in a sandbox, in which every command can be simulated and undone."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from iad_envs.bash.facts import NOTHING, SUBMIT, complaint_about, facts_of, observation_of
from iad_envs.bash.sandbox import SandboxEnded, SandboxLimits, open_sandbox
from iad_envs.bash.scoring import NO_PARTS, GoldOnce, RewardMode, scored
from iad_envs.bash.start_state import Ran, StartState
from iad_envs.bash.tasks import DATA_FILES, BashTask, commands_in, load_tasks, setup_of
from iad_envs.core import Effect, IADEnv, Score, Snapshot, Transition, View
from iad_envs.data import DataVersion, data_folder, data_version
from iad_envs.errors import UnknownTask
from iad_envs.requirements import Requirement
from iad_envs.requirements.sandbox import DOCKER, SANDBOX
from iad_envs.spaces import UnicodeText

MAX_COMMAND_BYTES = 100_000
"""Maximum length of a command in bytes, slightly below Linux's limit for one program argument."""
ACTIONS = ("pwd", "ls -la", "cd ..", SUBMIT)

_missing_tools: dict[tuple[Any, ...], frozenset[str]] = {}
"""Cache of missing programs, by data and sandbox. They do not change while a process runs."""


@dataclass(frozen=True, slots=True, eq=False)
class ShellState:
    """A state of an episode: a frozen file system, the shell's working directory, and the last command's outcome.

    Attributes:
        start: The start state, with which the file system is compared.
        instruction: The task's instruction.
        cwd: Working directory.
        oldpwd: Previous working directory, for `cd -`.
        ran: Outcome of the last command, None before the first. It keeps the frozen files alive.
        command: The last command.
        submitted: Whether the agent has submitted.
    """

    start: StartState
    instruction: str
    cwd: str = "/"
    oldpwd: str = ""
    ran: Ran | None = None
    command: str = ""
    submitted: bool = False


class BashEnv(IADEnv[str, ShellState]):
    """The agent reads an instruction, runs shell commands in a sandbox, and submits.

    ## Description
    The Bash environment of InterCode (Yang et al., 2023). The agent inspects and changes files and prints an answer.
    Every command runs in a sandbox without network. docs/bash.md lists its limits and all differences from InterCode.

    ## Action Space
    Text: a command line for `bash -c`, or `submit`. Only the file system and the working directory carry over.

    ## Observation Space
    Text. First the instruction, then the output of each command (standard output and error in order) and a last line
    with its exit code and other events such as a time-out. After `submit` only "submitted".

    ## Rewards
    0 until `submit`, then 0-1: the similarity of the file system and the last output to those of the gold command. The
    gold command is run at that time, in a fork of the start state. Success is a reward of exactly 1.

    ## Starting State
    The task's file system, in `/`.

    ## Episode End
    Terminated by `submit`. Truncated after `max_steps` actions.

    ## Information
    docs/bash.md lists all keys. `facts` describes the last command: exit code, time-out, truncation, files created,
    changed and deleted, destructive changes, and ended background jobs. Gold keys, from `step` and `reset` only:
    `progress` (the reward of the current state; the gold command is run once, at the first step, and progress is 0
    before), `success` and `reward_parts`.

    ## Arguments
        data_dir: Folder with tasks in InterCode's format. Default: `$IAD_DATA/intercode`, else the bundled tasks.
        split: `test`, `tuning`, `train`, `dev`, or another split of the tasks. None means all splits.
        reward: `intercode` for the original reward with its quirks. `strict` compares contents, modes, deletions and
            the exact output.
        published: Whether to behave like the original's containers. Commands and gold then lose their inner double
            quotes, and `/tmp`, `/mnt` and empty folders are missing from the start state.
        max_steps: Actions per episode.
        backend: The sandbox: `embedded` or `docker`.
        limits: Resource limits of commands that replace the sandbox's defaults.
        sandbox_options: Further arguments of the backend.
        render_mode: `ansi` or None.

    ## Version History
    * v0: First version.
    """

    domain = "iad_envs.bash.policy:DOMAIN"

    NEEDS: ClassVar[tuple[Requirement, ...]] = (SANDBOX,)
    OPTIONS: ClassVar[tuple[Requirement, ...]] = (DOCKER,)
    REPLAYED: ClassVar[bool] = True

    def __init__(
        self,
        *,
        data_dir: str | Path | None = None,
        split: str | None = "test",
        reward: RewardMode = "intercode",
        published: bool = False,
        max_steps: int = 10,
        backend: str = "embedded",
        limits: Mapping[str, Any] | None = None,
        sandbox_options: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
    ) -> None:
        if reward not in NO_PARTS:
            raise UnknownTask("reward", reward, NO_PARTS)
        self._folder = data_folder("intercode", data_dir).resolve()
        tasks = {task.task_id: task for task in load_tasks(self._folder)}
        super().__init__(tasks, max_steps=max_steps, split=split, render_mode=render_mode)
        self._reward = reward
        self._published = published
        self._backend = backend
        self._limits = SandboxLimits(**(limits or {}))
        self._options = dict(sandbox_options or {})
        self._starts: dict[str, StartState] = {}
        self.action_space = UnicodeText(1 << 20)
        self.observation_space = UnicodeText(1 << 20)

    @property
    def task_ids(self) -> Sequence[str]:
        """Ids of the split's tasks whose programs are available, in order."""
        return [task_id for task_id in self._task_ids if task_id not in self.excluded]

    def subject_of(self, task_id: str) -> str:
        """Return the name of a task's start state, with the data that it is of."""
        return f"{self._tasks[task_id].file_system} {self.data.digest}"

    @cached_property
    def excluded(self) -> Mapping[str, str]:
        """Tasks that can't be scored here, each with the reason: programs missing for its gold command."""
        lacking = {task_id: commands_in(task.gold) & self.missing_tools for task_id, task in self._tasks.items()}
        return {
            task_id: f"needs {', '.join(sorted(tools))}, which this sandbox does not have"
            for task_id, tools in lacking.items()
            if tools
        }

    @property
    def missing_tools(self) -> frozenset[str]:
        """Programs that gold commands need and the sandbox does not have. The first access opens a sandbox."""
        key = (self._folder, self._backend, repr(sorted(self._options.items())))
        if key not in _missing_tools:
            needed = frozenset[str]().union(*(commands_in(task.gold) for task in self._tasks.values()))
            first = next(iter(self._tasks.values()))
            _missing_tools[key] = self._start_of(first.file_system).missing(needed)
        return _missing_tools[key]

    @property
    def data(self) -> DataVersion:
        """Version of the data this environment runs on."""
        return data_version(self._folder, DATA_FILES)

    def terminal(self, action: str) -> bool:
        """Whether the action submits."""
        return action.strip() == SUBMIT

    def close(self) -> None:
        """Close all sandboxes that no copy uses, and delete their states. The environment can be reset again."""
        self._now = None
        self._simulations.clear()
        self._scores.clear()
        while self._starts:
            self._starts.popitem()[1].leave(self)
        super().close()

    def _start_of(self, file_system: str) -> StartState:
        start = self._starts.get(file_system)
        if start is not None and not start.sandbox.is_usable:
            self._starts.pop(file_system).leave(self)
            start = None
        if start is None:
            setup = setup_of(self._folder, file_system)
            sandbox = open_sandbox(self._backend, setup=setup, limits=self._limits, **self._options)
            start = self._starts[file_system] = StartState(
                sandbox, published=self._published, time_s=self._limits.time_s
            )
            start.join(self)
        return start

    def _start(self, task: BashTask) -> ShellState:
        return ShellState(self._start_of(task.file_system), task.instruction)

    def _transition(self, state: ShellState, action: str, rng: np.random.Generator | None) -> Transition:
        if self.terminal(action):
            return Transition(replace(state, submitted=True), "", True)
        complaint = _unusable(action)
        ran = state.start.refused(state.ran, complaint) if complaint else _run(state, action)
        if ran.result is None:
            return Transition(replace(state, ran=ran, command=action), ran.complaint, False)
        after = replace(state, cwd=ran.result.cwd, oldpwd=ran.result.oldpwd, ran=ran, command=action)
        return Transition(after, complaint_about(ran.result), False)

    def _view(self, state: ShellState, complaint: str) -> View:
        tools = {"missing_tools": tuple(sorted(self.missing_tools)), "complaint": complaint}
        note = f"[invalid action: {complaint}]" if complaint else ""
        if state.submitted:
            page = {"output": "", "cwd": "", "submitted": True}
            return View(f"submitted\n{note}".rstrip(), (), {**NOTHING, **tools}, page)
        page = {"output": "", "cwd": state.cwd, "submitted": False}
        if state.ran is None:
            return View(f"{state.instruction}\n{note}".rstrip(), ACTIONS, {**NOTHING, **tools}, page)
        facts = {**NOTHING, **facts_of(state.ran, state.command), **tools}
        if state.ran.result is None:
            return View(note, ACTIONS, facts, page)
        page["output"] = state.ran.result.output
        return View(f"{observation_of(state.ran.result, facts)}\n{note}".rstrip(), ACTIONS, facts, page)

    def _score(self, task: BashTask, now: Snapshot, memory: GoldOnce | None) -> Score:
        state: ShellState = now.state
        gold_once = memory or GoldOnce()
        if now.step == 0:  # no command has run yet, so a reset does not need the gold command
            return Score(0.0, 0.0, False, NO_PARTS[self._reward], gold_once)
        # At the end gold runs again: a time-dependent command must run when the agent's did.
        gold = (
            state.start.run(None, task.gold, is_whole=True)
            if state.submitted
            else gold_once.outcome(state.start, task.gold)
        )
        found = scored(self._reward, state.start, state.ran, instruction=task.instruction, gold=gold)
        progress = min(found.total, 1.0)
        if not state.submitted:
            return Score(0.0, progress, False, found.parts, gold_once)
        return Score(found.total, progress, found.total == 1.0, found.parts, gold_once)

    def _reference(self, task: BashTask) -> dict[str, Any]:
        return {"gold": task.gold}

    def _solution(self, task: BashTask) -> list[str]:
        return [task.gold, SUBMIT]

    def _effect(self, before: ShellState, after: ShellState) -> Effect:
        """Tell a command's exit status. Files and the working directory are the world, printing changes neither."""
        if after.ran is None or after.ran is before.ran:
            return Effect("", False)
        result = after.ran.result
        failure = f"exit status {result.exit_code}. {result.output}".strip() if result and result.exit_code else ""
        return Effect(failure, bool(after.ran.changes) or after.cwd != before.cwd)

    def _bound_by(self) -> str:
        return "files in a sandbox of this process"

    def _resume(self, original: Self | None) -> None:
        if original is not None:  # states are frozen, so that a sandbox can be shared
            self._starts = dict(original._starts)
            for start in self._starts.values():
                start.join(self)

    def _result_key(self, state: ShellState, view: View) -> Hashable:
        changes = () if state.ran is None else state.ran.changes
        seen = (state.submitted, state.cwd, view.page["output"], changes, view.facts["complaint"])
        return blake2b(repr(seen).encode(errors="surrogateescape"), digest_size=16).hexdigest()


def _run(state: ShellState, command: str) -> Ran:
    """Run a command in a state. One that ends the fork it runs in, but not the sandbox, is undone."""
    for is_last in (False, True):
        try:
            return state.start.run(state.ran, command, cwd=state.cwd, oldpwd=state.oldpwd)
        except SandboxEnded:
            if not state.start.sandbox.is_usable:
                raise
            if is_last:
                break
    return state.start.refused(state.ran, "expected a command that leaves its shell running, got one that ended it")


def _unusable(action: str) -> str:
    """Return the reason why an action can't be passed to a shell, or ""."""
    try:
        size = len(action.encode())
    except UnicodeEncodeError:
        return "expected a command in valid Unicode, got one with lone surrogates"
    if not action.strip():
        return f"expected a command for bash, or {SUBMIT}, got none"
    if size > MAX_COMMAND_BYTES:
        return f"expected a command of at most {MAX_COMMAND_BYTES:,} bytes, got {size:,}; write a script in parts"
    return ""
