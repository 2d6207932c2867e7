"""`IAD/InterCodeBash-v0`: a shell in a sandbox, whose every command can be tried and taken back."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from iad_envs.bash.facts import NOTHING, complaint_about, facts_of, observation_of
from iad_envs.bash.sandbox import SandboxLimits, open_sandbox
from iad_envs.bash.scoring import NO_PARTS, GoldOnce, RewardMode, run_gold, scored
from iad_envs.bash.start_state import Ran, StartState
from iad_envs.bash.tasks import DATA_FILES, BashTask, commands_in, load_tasks, setup_of
from iad_envs.core import IADEnv, Score, Snapshot, Transition, View
from iad_envs.data import DataVersion, data_folder, data_version
from iad_envs.errors import UnknownTask
from iad_envs.requirements import Requirement
from iad_envs.requirements.docker import DOCKER
from iad_envs.requirements.sandbox import SANDBOX
from iad_envs.spaces import UnicodeText

MAX_ACTION_CHARS = 1 << 20
MAX_OBSERVATION_CHARS = 1 << 20
MAX_COMMAND_BYTES = 100_000
"""A little less than the longest argument that Linux passes to a program."""
SUBMIT = "submit"
SUBMITTED = "submitted"
ACTIONS = ("pwd", "ls -la", "cd ..", SUBMIT)

_missing_tools: dict[tuple[Any, ...], frozenset[str]] = {}
"""What was found missing, by data and sandbox: programs don't come and go while a process runs."""


@dataclass(frozen=True, slots=True, eq=False)
class ShellState:
    """A moment of an episode: a frozen file system, where the shell is, and what the last command did.

    Attributes:
        start: What the file system is compared with.
        instruction: What is to be done.
        cwd: Working directory.
        oldpwd: The one before, for `cd -`.
        ran: The last command's outcome; its files are kept as long as this is. None before any.
        command: The last command.
        submitted: Whether the episode was ended.
    """

    start: StartState
    instruction: str
    cwd: str = "/"
    oldpwd: str = ""
    ran: Ran | None = None
    command: str = ""
    submitted: bool = False


class BashEnv(IADEnv[str, ShellState]):
    """An agent reads an instruction, runs shell commands in a sandbox, and submits.

    ## Description
    The Bash environment of InterCode (Yang et al., 2023): files to inspect and to change, and an answer to print. Every
    command runs in a sandbox without network; see docs/bash.md for its limits and for every difference.

    ## Action Space
    Text: a command line for `bash -c`, or `submit`. Only the file system and the working directory carry over.

    ## Observation Space
    Text: the instruction first, then what a command printed (standard output and error as they came) and a last line
    with its exit code and whatever else happened to it; after `submit` nothing but "submitted".

    ## Rewards
    0 until `submit`, then 0-1: how close the file system and the last output are to what the gold command leaves, which
    is run afresh in a fork of the start state. Success is a reward of exactly 1.

    ## Starting State
    The task's file system, in `/`.

    ## Episode End
    Terminated by `submit`; truncated after `max_steps` actions.

    ## Information
    Every key is in docs/bash.md. `facts` tells of the last command: exit code, time-out, truncation, files created,
    changed and deleted, destruction, background jobs that were ended. Gold, from `step` and `reset` only: `progress`
    (the reward of the state so far, with the gold command run once, at the first step; 0 before), `success`,
    `reward_parts`.

    ## Arguments
        data_dir: Folder with tasks in InterCode's format; default `$IAD_DATA/intercode`, else the bundled.
        split: `test`, or another that the tasks name; None for all.
        reward: `intercode`, quirks included, or `strict`: contents, modes, deletions and the exact output.
        published: The original's containers: commands and gold arrive with their inner double quotes gone, and `/tmp`,
            `/mnt` and empty folders are missing from the start state.
        max_steps: Actions per episode.
        backend: The sandbox: `embedded` or `docker`.
        limits: What commands may use, in place of the sandbox's own defaults.
        sandbox_options: Further arguments of the backend.
        render_mode: `ansi` or None.

    ## Version History
    * v0: First version.
    """

    NEEDS: ClassVar[tuple[Requirement, ...]] = (SANDBOX,)
    OPTIONS: ClassVar[tuple[Requirement, ...]] = (DOCKER,)

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
        super().__init__(max_steps=max_steps, render_mode=render_mode)
        if reward not in NO_PARTS:
            raise UnknownTask("reward", reward, NO_PARTS)
        self._folder = data_folder("intercode", data_dir).resolve()
        self._tasks = {task.task_id: task for task in load_tasks(self._folder)}
        splits = {task.split for task in self._tasks.values()}
        if split is not None and split not in splits:
            raise UnknownTask("split", split, sorted(splits))
        self.split = split
        self._reward = reward
        self._published = published
        self._backend = backend
        self._limits = SandboxLimits(**(limits or {}))
        self._options = dict(sandbox_options or {})
        self._starts: dict[str, StartState] = {}
        self._excluded: dict[str, str] | None = None
        self.action_space = UnicodeText(MAX_ACTION_CHARS)
        self.observation_space = UnicodeText(MAX_OBSERVATION_CHARS)

    @property
    def task_ids(self) -> Sequence[str]:
        """The ids of the split's tasks whose programs are there, in order."""
        excluded = self.excluded
        return [
            task_id
            for task_id, task in self._tasks.items()
            if self.split in (None, task.split) and task_id not in excluded
        ]

    @property
    def excluded(self) -> Mapping[str, str]:
        """Tasks that can't be scored here, each with the programs that its gold command lacks."""
        if self._excluded is None:
            lacking = {task_id: commands_in(task.gold) & self.missing_tools for task_id, task in self._tasks.items()}
            self._excluded = {
                task_id: f"needs {', '.join(sorted(tools))}, which this sandbox does not have"
                for task_id, tools in lacking.items()
                if tools
            }
        return self._excluded

    @property
    def missing_tools(self) -> frozenset[str]:
        """Programs that some gold command needs and the sandbox does not have. The first look opens a sandbox."""
        key = (self._folder, self._backend, repr(sorted(self._options.items())))
        if key not in _missing_tools:
            needed = frozenset[str]().union(*(commands_in(task.gold) for task in self._tasks.values()))
            first = next(iter(self._tasks.values()))
            _missing_tools[key] = self._start_of(first.file_system).missing(needed)
        return _missing_tools[key]

    @property
    def data(self) -> DataVersion:
        """Which data this environment runs on."""
        return data_version(self._folder, DATA_FILES)

    def difficulty(self, task_id: str) -> str:
        """Return `easy`, `hard`, or "" where the data does not say."""
        return self._task(task_id).difficulty

    def action_key(self, action: str) -> str:
        """Return the command without blanks around it: no more can be said without running it."""
        return action.strip()

    def irreversible(self, action: str) -> bool:
        """Say whether the action submits."""
        return action.strip() == SUBMIT

    def close(self) -> None:
        """Drop every sandbox, and every state with it; the environment can be reset again."""
        self._now = None
        self._simulations.clear()
        self._scores.clear()
        while self._starts:
            self._starts.popitem()[1].close()
        super().close()

    def _start_of(self, file_system: str) -> StartState:
        start = self._starts.get(file_system)
        if start is None:
            setup = setup_of(self._folder, file_system)
            sandbox = open_sandbox(self._backend, setup=setup, limits=self._limits, **self._options)
            start = self._starts[file_system] = StartState(sandbox, published=self._published)
        return start

    def _task(self, task_id: str) -> BashTask:
        try:
            return self._tasks[task_id]
        except KeyError:
            raise UnknownTask("task_id", task_id, self._tasks) from None

    def _task_id(self, task: BashTask) -> str:
        return task.task_id

    def _instruction(self, task: BashTask) -> str:
        return task.instruction

    def _start(self, task: BashTask) -> ShellState:
        start = self._start_of(task.file_system)
        return ShellState(start, task.instruction)

    def _transition(self, state: ShellState, action: str, rng: np.random.Generator | None) -> Transition:
        if self.irreversible(action):
            return Transition(replace(state, submitted=True), "", True)
        complaint = _unusable(action)
        if complaint:
            ran = state.start.refused(state.ran, complaint)
        else:
            ran = state.start.run(state.ran, action, cwd=state.cwd, oldpwd=state.oldpwd)
        if ran.result is None:
            return Transition(replace(state, ran=ran, command=action), ran.complaint, False)
        after = replace(state, cwd=ran.result.cwd, oldpwd=ran.result.oldpwd, ran=ran, command=action)
        return Transition(after, complaint_about(ran.result), False)

    def _view(self, state: ShellState, complaint: str) -> View:
        tools = {"missing_tools": tuple(sorted(self.missing_tools)), "complaint": complaint}
        note = f"[invalid action: {complaint}]" if complaint else ""
        if state.submitted:
            page = {"output": "", "cwd": "", "submitted": True}
            return View(f"{SUBMITTED}\n{note}".rstrip(), (), {**NOTHING, **tools}, page)
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
        if now.step == 0:  # nothing was done yet, and the gold command need not run for a reset
            return Score(0.0, 0.0, False, NO_PARTS[self._reward], gold_once)
        # At the end afresh: what depends on the time has to run when the agent's did.
        gold = run_gold(state.start, task.gold) if state.submitted else gold_once.outcome(state.start, task.gold)
        found = scored(self._reward, state.start, state.ran, instruction=task.instruction, gold=gold)
        progress = min(found.total, 1.0)
        if not state.submitted:
            return Score(0.0, progress, False, found.parts, gold_once)
        return Score(found.total, progress, found.total == 1.0, found.parts, gold_once)

    def _reference(self, task: BashTask) -> dict[str, Any]:
        return {"gold": task.gold}

    def _result_key(self, state: ShellState, view: View) -> Hashable:
        changes = () if state.ran is None else state.ran.changes
        said = (state.submitted, state.cwd, view.page["output"], changes, view.facts["complaint"])
        return blake2b(repr(said).encode(errors="surrogateescape"), digest_size=16).hexdigest()


def _unusable(action: str) -> str:
    """Why an action can't be handed to a shell; empty if it can."""
    try:
        size = len(action.encode())
    except UnicodeEncodeError:
        return "expected a command in valid Unicode, got one with lone surrogates"
    if not action.strip() or "\x00" in action:
        given = "none" if not action.strip() else "one with a NUL character"
        return f"expected a command for bash, or {SUBMIT}, got {given}"
    if size > MAX_COMMAND_BYTES:
        return f"expected a command of at most {MAX_COMMAND_BYTES:,} bytes, got {size:,}; write a script in parts"
    return ""
