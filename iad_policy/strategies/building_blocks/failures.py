"""Errors of simulated actions, in the environment's own words and without gold."""

from collections.abc import Mapping
from typing import Any

from iad_policy.types import State


def failure_of(state: State) -> str:
    """Return the error of the action that led to a state, or "" if there was none.

    It is read from `info`: an invalid action's complaint, a finding of severity `error`, a page that could not be
    rendered, or a command's exit status. The observation is used if an invalid action has no complaint.
    """
    facts: Mapping[str, Any] = state.info.get("facts") or {}
    page: Mapping[str, Any] = state.info.get("page") or {}
    errors = [finding["message"] for finding in facts.get("findings", ()) if finding["severity"] == "error"]
    if errors:
        return "; ".join(errors)
    if state.info.get("invalid_action"):
        return str(facts.get("complaint") or state.observation)
    if page.get("failure"):
        return str(page["failure"])
    if facts.get("exit_code") and not page.get("submitted"):
        return f"exit status {facts['exit_code']}. {page.get('output', '')}".strip()
    return ""
