"""Puts states, actions and previews into words, using only information that an agent may see.

`Rendering` knows no environment. An environment that has more to say than its observation has a class of its own in
`iad_envs/<environment>/policy/rendering.py`. Every block is append-only where it can be: a turn of the history reads
the same in all later prompts, so a server that keeps the beginnings of prompts reads only what is new.
"""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from iad_policy.types import Candidate, Feedback, State, Turn
from iad_policy.types.texts import CHARS_PER_TOKEN, shortened, shown, truncated

RESULT_CHARS = 400
"""Characters of an observation that the history shows."""
N_OLD_TURNS = 40
N_LEFT_OUT = 20
"""Turns beyond `N_OLD_TURNS` are left out in blocks of this size, so that the history rarely begins anew."""
N_ACTIONS = 100
FACT_CHARS = 300
INDENT = "   "

Seen = State | Turn
"""What was seen at one moment: both have an observation and the public info."""


class Rendering:
    """The words for the states of any environment."""

    task_label: ClassVar[str] = "Task"
    last_action: ClassVar[str] = ""
    """The action without which an episode counts for nothing; "" if there is none."""

    def values(self, state: State) -> dict[str, str]:
        """Return the values of the placeholders that describe a state. Each is a block of text, or empty."""
        return {
            "environment": self.environment(state),
            "instruction": str(state.info.get("instruction", "")),
            "task": self.task(state),
            "notes": _headed("Notes:", [f"- {note}" for note in state.notes]),
            "history": _headed("So far:", self.turns(state)),
            "observation": self.page(state),
            "actions": self.actions(state),
            "facts": self.facts(state),
            "steps_left": self.steps_left(state),
        }

    def environment(self, state: State) -> str:
        """Return what many tasks share, such as the schema of a database; "" if there is nothing."""
        return ""

    def task(self, state: State) -> str:
        """Return the task with its label; "" if the environment states none."""
        instruction = str(state.info.get("instruction", ""))
        return f"{self.task_label}: {instruction}" if instruction else ""

    def page(self, seen: Seen) -> str:
        """Return what is seen now, in full."""
        return shown(seen.observation)

    def environment_of(self, state: State, action: Any) -> str:
        """Return what of `environment` matters to the outcome of one action: by default, all of it."""
        return self.environment(state)

    def raw(self, state: State) -> str:
        """Return the observation in the environment's own words, which a simulator has to predict."""
        return shown(state.observation)

    def result(self, before: Seen, action: Any, after: Seen) -> str:
        """Return in short what an action led to. It depends on nothing that comes later."""
        return complaint_of(after) or shown(after.observation, RESULT_CHARS)

    def shown_action(self, action: Any) -> str:
        """Return an action as the history shows it."""
        return shown(action, 1_000)

    def written(self, action: Any, heading: str) -> str:
        """Return an action as the answer that the prompts ask for: after its heading, if they ask for one."""
        return f"{heading}: {action}" if heading else str(action)

    def shown_candidate(self, action: Any) -> str:
        """Return an action as a judge sees it."""
        return shown(action)

    def told(self, feedback: Feedback) -> str:
        """Return a feedback with its actions in the form in which they have to be answered."""
        return feedback.text

    def tried(self, action: Any, n_tokens: int) -> str:
        """Return an action as a feedback shows it. A text that begins with a line break stands below its label."""
        return truncated(str(action), n_tokens)

    def changes(self, before: Turn | None, after: State) -> list[str]:
        """Return what an action changed besides what is seen, for a feedback."""
        return []

    def news(self, before: Turn | None, after: State, n_tokens: int) -> str:
        """Return what is seen after an action and was not seen before it, for a feedback; "" if nothing is."""
        return without_middle("\n".join(new_parts(before, after, "\n")), n_tokens * CHARS_PER_TOKEN)

    def actions(self, state: State) -> str:
        """Return the available actions as a list; "" if the page shows them itself."""
        actions = [str(action) for action in state.info.get("available_actions", ())]
        if len(actions) > N_ACTIONS:  # patterns such as search[...] come last, so the middle is left out
            kept = N_ACTIONS // 2
            actions = [*actions[:kept], f"({len(actions) - 2 * kept} more)", *actions[-kept:]]
        return _headed("Available actions:", actions)

    def facts(self, seen: Seen) -> str:
        """Return the findings of the environment that an agent can use."""
        complaint = complaint_of(seen)
        facts = {name: fact_text(value) for name, value in facts_of(seen).items() if name != "complaint"}
        found = [f"- {name}: {text}" for name, text in facts.items() if text]
        return "\n".join(part for part in (complaint, _headed("Findings:", found[:20])) if part)

    def steps_left(self, state: State) -> str:
        """Return how many actions are left; "" if there is no limit."""
        if math.isinf(state.steps_left):
            return ""
        last = f" Without {self.last_action} as the last one, nothing counts." if self.last_action else ""
        return f"Actions left: {int(state.steps_left)}.{last if state.steps_left == 1 else ''}"

    def turns(self, state: State, *, since: int | None = None) -> list[str]:
        """Return a block per turn: the action, and what it led to. What the last one led to is the state itself.

        Args:
            state: The state in which the turns end.
            since: Number of earlier turns that are not told. None tells all, and what was seen before them.
        """
        history = state.history
        left_out = n_left_out(len(history) - (since or 0))
        first = left_out + (since or 0)
        blocks = self.beginning(history[0]) if history and since is None and not left_out else []
        blocks += [f"({left_out} earlier turns are left out)"] if left_out else []
        for place, turn in enumerate(history[first:], start=first):
            line = f"{place + 1}. {indented(self.shown_action(turn.action))}"
            is_last = place + 1 == len(history)
            result = "" if is_last else self.result(turn, turn.action, history[place + 1])
            blocks.append(f"{line}\n{INDENT}{indented(result)}" if result else line)
        return blocks

    def beginning(self, first: Turn) -> list[str]:
        """Return what was seen before the first action."""
        return [f"0. {indented(shown(first.observation, RESULT_CHARS))}"]

    def outcome(self, preview: State) -> str:
        """Return what an action led to in a simulation, in full."""
        return f"{self.page(preview)}{_after(self.facts(preview))}"

    def candidate(self, candidate: Candidate) -> str:
        """Return a candidate's action, and its simulated outcome if there is one.

        The agent's reasoning is left out: a judge should weigh the action, not the argument for it.
        """
        action = f"Action: {self.shown_candidate(candidate.action)}"
        preview = candidate.preview
        if preview is None:
            return action
        if preview.is_awaiting:
            lead = "It would wait for an answer that can't be simulated. What would be seen until then:"
        elif preview.done:
            lead = "It would end the task. How that is scored is not known. What would be seen:"
        elif preview.info.get("invalid_action"):
            lead = "It would not be accepted. The answer would be:"
        else:
            lead = "It would lead to this (simulated, not done yet):"
        return f"{action}\n{lead}\n{self.outcome(preview)}"

    def subject(self, state: State, subject: Any) -> str:
        """Return the subject of a role as text.

        Args:
            state: The state in which the role is asked. Turns before it are not told again.
            subject: Candidates, which are numbered from 1 if there are several, simulated attempts (a state at the end,
                with what was said of it), or texts. Several attempts are sequences of their own.
        """
        if isinstance(subject, list | tuple) and any(isinstance(part, list | tuple) for part in subject):
            groups = [self._group(state, leaves(part)) for part in subject]
            return "\n\n".join(f"Attempt {number}\n{group}" for number, group in enumerate(groups, start=1))
        return self._group(state, leaves(subject))

    def _group(self, state: State, parts: Sequence[Any]) -> str:
        ends = [part for part in parts if isinstance(part, State)]
        n_candidates = sum(isinstance(part, Candidate) for part in parts)
        blocks, number = [], 0
        for part in parts:
            if isinstance(part, State):
                blocks.append(self.attempt(state, part))
            elif not isinstance(part, Candidate):
                blocks.append(str(part))
            elif any(end.history and str(part.action) == str(end.history[-1].action) for end in ends):
                blocks.append(_said(part, "A verifier said of the last action"))
            else:
                number += 1
                blocks.append(f"{number}. {self._judged(part)}" if n_candidates > 1 else self._judged(part))
        return "\n\n".join(block for block in blocks if block)

    def _judged(self, candidate: Candidate) -> str:
        if candidate.error:
            return f"An answer that is no action: {candidate.error}"
        said = _said(candidate, "A reviewer said")
        return f"{self.candidate(candidate)}\n{said}" if said else self.candidate(candidate)

    def attempt(self, start: State, end: State) -> str:
        """Return a simulated attempt: its actions with what each led to, the last page in full, and how it ended."""
        since = min(len(start.history), len(end.history))
        n_actions = len(end.history) - since
        blocks = self.turns(end, since=since)
        if n_actions:
            blocks.append(f"At the end:\n{self.page(end)}{_after(self.facts(end))}")
        if end.is_awaiting:
            blocks.append("The simulation ends here, because only the world can answer the last action.")
        elif end.done:
            is_cut = end.info.get("stop_reason") == "max_steps"
            blocks.append(
                "The task ended there, as no action was left." if is_cut else "The last action ended the task."
            )
        elif end.path:
            number = "1 action" if n_actions == 1 else f"{n_actions} actions"
            blocks.append(
                f"The simulation was stopped after {number}, before the task was over. That it has no end is not the "
                "agent's fault."
            )
        return "\n".join(filter(None, blocks))


def without_middle(text: str, limit: int) -> str:
    """Return a text without lines from its middle: the last lines of an output say how it ended."""
    if len(text) <= limit + 100:  # so few characters are not worth leaving out
        return text
    head, tail = text[: limit // 2], text[-(limit // 2) :]
    head = head[: head.rfind("\n")] if "\n" in head else head
    tail = tail[tail.find("\n") + 1 :] if "\n" in tail else tail
    return f"{head}\n... ({len(text) - len(head) - len(tail)} characters left out) ...\n{tail}"


def n_left_out(n_turns: int) -> int:
    """Return how many of the earliest turns a history leaves out."""
    return max(0, math.ceil((n_turns - N_OLD_TURNS) / N_LEFT_OUT)) * N_LEFT_OUT


def indented(text: str) -> str:
    """Return a text whose second and later lines are indented."""
    return text.replace("\n", f"\n{INDENT}")


def new_parts(before: Turn | None, after: State, breaks: str) -> list[str]:
    """Return the parts of an observation that were not on the one before it.

    Args:
        before: What was seen before; None if that is not known.
        after: What is seen now. Only a text has parts.
        breaks: Pattern of what separates parts.
    """
    if not isinstance(after.observation, str):
        return []
    earlier = before.observation if before is not None else None
    known = set(re.split(breaks, earlier)) if isinstance(earlier, str) else set()
    return [part for part in re.split(breaks, after.observation) if part.strip() and part not in known]


def complaint_of(seen: Seen) -> str:
    """Return that, and why, the last action was not valid; "" if it was."""
    if not seen.info.get("invalid_action"):
        return ""
    said = facts_of(seen).get("complaint")
    return f"The last action was not valid here and changed nothing{f': {said}' if said else '.'}"


def facts_of(seen: Seen) -> Mapping[str, Any]:
    """Return the environment's findings; nothing where a simulator predicted none."""
    facts = seen.info.get("facts")
    return facts if isinstance(facts, Mapping) and facts else {}


def page_of(seen: Seen) -> Mapping[str, Any]:
    """Return the observation as data; nothing where the environment has none, or a simulator predicted none."""
    page = seen.info.get("page")
    return page if isinstance(page, Mapping) and page else {}


def fact_text(value: Any) -> str:
    """Return a fact in words: a text, a number, or a list of them; "" for nothing, zero, False and nested values."""
    if isinstance(value, str):
        return shortened(value, FACT_CHARS)
    if isinstance(value, list | tuple):
        parts = [fact_text(part) for part in value]
        return shortened(", ".join(parts), FACT_CHARS) if all(parts) else ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else ""
    return f"{value}" if isinstance(value, int | float | np.number) and value else ""


def leaves(subject: Any) -> list[Any]:
    """Return the parts of nested sequences as a flat list."""
    if isinstance(subject, list | tuple) and not isinstance(subject, Turn):
        return list(chain.from_iterable(map(leaves, subject)))
    return [] if subject is None else [subject]


def _said(candidate: Candidate, by: str) -> str:
    critique = candidate.verdict.critique if candidate.verdict is not None else ""
    return f"{by}: {critique}" if critique else ""


def _after(block: str) -> str:
    return f"\n{block}" if block else ""


def _headed(heading: str, blocks: Sequence[str]) -> str:
    return "\n".join([heading, *blocks]) if blocks else ""
