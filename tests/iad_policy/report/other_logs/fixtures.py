"""The logs that the packages themselves wrote: see tests/fixtures/README.md."""

import json
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from iad_policy.report.samples import TaskSample

LOGS = Path(__file__).parents[3] / "fixtures" / "other_logs"
HAS_ZSTANDARD = sys.version_info >= (3, 14) or find_spec("zstandard") is not None
needs_zstandard = pytest.mark.skipif(not HAS_ZSTANDARD, reason="needs zstandard: pip install -e '.[analyse]'")


def zstandard(path: str) -> Any:
    """The marks of a log: it is skipped where it can't be decompressed."""
    return needs_zstandard if path.endswith(".eval") else ()


def written(path: Path, *lines: Any) -> Path:
    """Write lines: texts as they are, and other values as JSON."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def require_samples_of_inspect(ours: Sequence[TaskSample], theirs: Sequence[Mapping[str, Any]]) -> None:
    """Check samples against what inspect_ai's own reader says."""
    samples = {(one.task, one.sample): one for one in ours}
    assert len(samples) == len(ours) == len(theirs) > 0
    for wanted in theirs:
        sample = samples[wanted["id"], wanted["epoch"]]
        for name, value in wanted["scores"].items():
            is_text = (name, sample.task) == ("any_value", "sum-12")  # which the package counts as 0, with a warning
            assert sample.scores[name].value == (None if is_text else value)
        assert sample.scores.keys() == wanted["scores"].keys()
        assert bool(sample.error) == bool(wanted["error"]) or sample.error == "invalidated"
        assert (sample.tokens or 0) == wanted["tokens"]


def require_samples_of_verifiers(ours: Sequence[TaskSample], theirs: Sequence[Mapping[str, Any]]) -> None:
    """Check samples against what verifiers' own reader says."""
    assert len(ours) == len(theirs) > 0
    for sample, wanted in zip(ours, theirs, strict=True):
        assert (sample.task, bool(sample.error)) == (wanted["task"], wanted["is_failed"])
        if not sample.error:
            assert sample.scores["reward"].value == pytest.approx(wanted["reward"])
