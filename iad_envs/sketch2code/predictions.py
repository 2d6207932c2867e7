"""Predicted pages of Sketch2Code: a folder with `{id}.html` for each, or an object with HTML by id."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import gymnasium as gym

from iad_envs.predictions import PredictedAnswer, ReadAnswers


class PagePredictions:
    """Predicted pages. An id is that of a task, `{page}_{number}`, or that of a page, for all sketches of the page.

    Args:
        env: The environment.
    """

    env_args: Mapping[str, Any] = {}
    headings: Mapping[str, str] = {
        "success": "success",
        "layout": "layout",
        "text_iou": "text\nIoU",
        "image_iou": "image\nIoU",
        "block_match": "block\nmatch",
        "text": "text",
        "position": "position",
        "colour": "colour",
    }
    rates: Collection[str] = ()
    main = "layout"
    suffix = ".html"
    missing_as = ""
    notes: Sequence[str] = (
        "Text IoU and image IoU are 0 where neither page has text or images. These zeros count in the means.",
    )

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        inner: Any = env.unwrapped
        self._task_ids = frozenset(inner.tasks)
        self._by_page: dict[str, list[str]] = {}
        for task_id in inner.tasks:
            self._by_page.setdefault(task_id.rpartition("_")[0], []).append(task_id)

    def read(self, items: Sequence[tuple[str, int, str | None, Any]]) -> ReadAnswers:
        """Return the pages of a folder or a file."""
        answers: list[PredictedAnswer] = []
        problems: list[str] = []
        unknown: list[str] = []
        n_pages = 0
        for place, _, key, value in items:
            if key is None:
                problems.append(f"{place}: expected HTML by id, got {value!r:.60} without one")
                continue
            task_ids = [key] if key in self._task_ids else self._by_page.get(key, [])
            if not task_ids:
                unknown.append(key)
                continue
            n_pages += task_ids != [key]
            for html in value if isinstance(value, list) else [value]:
                if isinstance(html, str):
                    answers += [PredictedAnswer(task_id, html, html, place) for task_id in task_ids]
                else:
                    problems.append(f"{place}: expected HTML, got {html!r:.60}")
        notes = [f"Predictions named after a page, which count for each of its sketches: {n_pages}"] if n_pages else []
        return ReadAnswers(answers, problems, unknown, notes)

    def score(
        self, answers: Sequence[tuple[str, str]], *, workers: int, timings: int, advance: Callable[[], object]
    ) -> None:
        """Return None: the environment scores.

        Raises:
            ValueError: Times are asked for.
        """
        if timings:
            raise ValueError("expected --r-ves for IAD/BIRD-v0, got it for pages; leave it out")

    def result_of(self, info: Mapping[str, Any]) -> str:
        """Return "": there are no votes."""
        return ""

    def majority_right(self, results: Sequence[str], is_right: Sequence[bool]) -> None:
        """Return None: there are no votes."""
