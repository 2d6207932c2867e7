"""Runs one episode with a policy and collects the facts for its record."""

from typing import Any

import gymnasium as gym

from iad_policy.ledger.episode_record import number
from iad_policy.models.parsing import UNREADABLE
from iad_policy.strategies.building_blocks.attempts import passes
from iad_policy.types import FEEDBACK_DROPPED
from iad_policy.types.hashing import encode
from iad_policy.types.python_text import undisturbed
from iad_policy.types.traces import place_of, traceback_of
from iad_policy.wrapper import IADPolicyWrapper


class EpisodeRun:
    """Runs one episode and collects its facts.

    Args:
        env: The environment.
        policy: The policy that chooses actions.
        task: The task's id, or its number if the environment has no ids.
    """

    def __init__(self, env: gym.Env[Any, Any], policy: IADPolicyWrapper, task: str) -> None:
        self._env = env
        self._policy = policy
        self._task = task
        self._info: dict[str, Any] = {}
        self._instruction = ""
        self._progress: list[float | None] = []
        self._reward = 0.0
        self._n_accepted = 0
        self._stop_reason = self._cut = self._error_kind = self._error = self._traceback = ""

    def run(self, seed: int) -> None:
        """Run to the end. After an exception, `facts` covers the part before it."""
        policy = self._policy
        policy.reset()
        has_ids = hasattr(self._env.unwrapped, "task_ids")
        observation, info = self._env.reset(seed=seed, options={"task_id": self._task} if has_ids else None)
        self._arrived(info)
        self._instruction = str(info.get("instruction", ""))
        while True:
            action = policy.act(observation, {"task_id": self._task, "step": len(self._progress) - 1} | self._info)
            observation, reward, terminated, truncated, info = self._env.step(action)
            done = terminated or truncated
            self._reward += float(reward)
            policy.observe(observation, info, reward=float(reward), done=done)
            self._n_accepted += not (info.get("invalid_action") or policy.decisions[-1].committed.error)
            self._arrived(info)
            if done:
                self._stop_reason = info.get("stop_reason") or ("terminated" if terminated else "truncated")
                return

    def stop(self, reason: str, *, cut: str = "", error: Exception | SystemExit | None = None) -> None:
        """Record that the episode was stopped early, and why."""
        self._stop_reason, self._cut = reason, cut
        if error is not None:
            self._error_kind = getattr(error, "kind", "crash")
            self._error = f"{type(error).__name__}: {error!s:.1000}{place_of(error)}"
            self._traceback = undisturbed(lambda: traceback_of(error))

    def facts(self) -> dict[str, Any]:
        """Return the part of the record that describes the outcome."""
        decisions = self._policy.decisions
        n_steps = max(0, len(self._progress) - 1)
        success = self._info.get("success")
        cuts = [self._cut, *(decision.cut for decision in decisions)]
        candidates = [candidate for decision in decisions for candidate in decision.candidates]
        verdicts = [candidate.verdict for candidate in candidates if candidate.verdict is not None]
        failed = [verdict for verdict in verdicts if "error_kind" in verdict.details]
        last = decisions[n_steps - 1].committed.verdict if n_steps else None
        texts = [one.text for decision in decisions for one in decision.role_answers if one.role == "evaluator"]
        passed = [verdict for verdict in map(passes, texts) if verdict is not None]
        parts = {name: number(part) for name, part in (self._info.get("reward_parts") or {}).items()}
        return {
            "instruction": self._instruction,
            "success": None if success is None else float(success),
            "why": self._why(),
            "progress": self._progress[-1] if self._progress else None,
            "reward": self._reward,
            "reward_parts": {name: value for name, value in parts.items() if value is not None},
            "n_steps": n_steps,
            "grounding": (1 + self._n_accepted) / (1 + n_steps),
            "stop_reason": self._stop_reason,
            "cut": next((cut for cut in cuts if cut.startswith("run.")), self._cut),
            "error_kind": self._error_kind,
            "error": self._error,
            "traceback": self._traceback,
            "simulated_by": self._policy.simulated_by,
            "n_unreadable": sum(one.error.startswith(UNREADABLE) for one in candidates),
            "n_cut_off": sum(exchange.is_cut_off for one in candidates for exchange in one.exchanges),
            "n_failed_verdicts": len(failed),
            "n_dropped": sum(FEEDBACK_DROPPED in decision.notes for decision in decisions),
            "failed_verdict": failed[0].critique if failed else "",
            "final_score": None if last is None else number(last.score),
            "n_evaluations": len(passed),
            "n_passed": sum(passed),
            "usage": {role: usage.as_dict() for role, usage in self._policy.spent.items()},
            "progress_by_step": tuple(self._progress),
            "actions": tuple(encode(decision.committed.action) for decision in decisions[:n_steps]),
        }

    def _why(self) -> str:
        why = getattr(self._env.unwrapped, "why_failed", None)
        if why is None or not self._progress:
            return ""
        try:
            return str(why())
        except Exception as error:  # it is for readers, and must not cost an episode
            return f"not known, {type(error).__name__}: {error!s:.200}"

    def _arrived(self, info: dict[str, Any]) -> None:
        self._info = info
        self._progress.append(number(info.get("progress")))
