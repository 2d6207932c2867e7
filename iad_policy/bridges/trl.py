"""TRL: the environments of its `GRPOTrainer`, and their tasks as its dataset.

```python
from trl import GRPOConfig, GRPOTrainer

from iad_policy.bridges.trl import grpo_dataset, grpo_environment, log_outcomes

trainer = GRPOTrainer(
    model,  # with a chat template that has a place for tools
    args=GRPOConfig(max_tool_calling_iterations=15, max_completion_length=4096),
    train_dataset=grpo_dataset("IAD/WebShop-v0"),
    environment_factory=grpo_environment("IAD/WebShop-v0"),
    reward_funcs=[log_outcomes],  # no reward: it logs success, progress, steps and invalid answers
)
```

The model calls one tool, `act`. The reward is the environment's. Nothing here imports TRL, so it is tested without it.
Checked against TRL 1.16.
"""

import json
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar

from iad_policy.bridges.chat import Chat, ChatOutcome, png_of
from iad_policy.errors import MissingExtra

if TYPE_CHECKING:
    from datasets import Dataset

STYLE = "tool"
METRICS = ("success", "progress", "steps", "invalid")
"""What `log_outcomes` logs. The reward is logged by TRL."""


class GRPOEnvironment:
    """An episode as `GRPOTrainer` wants it. `grpo_environment` makes classes of it.

    TRL makes one object per completion of a batch, and resets it for every new one. Each public method of the class but
    `reset` and `get_reward` is a tool, so there is only `act`. TRL has no call that closes: the environment is closed
    when its object is freed.
    """

    _env_id: ClassVar[str]
    _env_args: ClassVar[Mapping[str, Any]]

    def __init__(self) -> None:
        self._chat = Chat(self._env_id, STYLE, **self._env_args)
        weakref.finalize(self, self._chat.close)

    def reset(self, *, task_id: str | None = None, seed: int | None = None, **row: Any) -> "str | list[dict[str, Any]]":
        """Start an episode and return the user's first turn, which TRL appends to the last message of the row's prompt.

        Args:
            task_id: Picks the task.
            seed: Picks the task if none is named, and seeds the environment.
            row: Other columns of the row. They are not used.
        """
        content = self._chat.begin(task_id=task_id, seed=seed)[-1]["content"]
        if isinstance(content, str):
            return content
        if find_spec("PIL") is None:
            raise MissingExtra("pillow")
        from PIL import Image

        return [
            {"type": "image", "image": Image.open(BytesIO(png_of(part)))} if part["type"] == "image_url" else dict(part)
            for part in content
        ]

    def act(self, action: str) -> str:
        """Take one action and return what you see then.

        Args:
            action: The action.
        """
        # The text above is the tool's description, which the model reads.
        return self._chat.say(action if isinstance(action, str) else json.dumps(action))

    def get_reward(self) -> float:
        """Return the sum of the episode's rewards; gold. TRL asks for it when the completion has ended."""
        return self._chat.reward

    @property
    def outcome(self) -> ChatOutcome:
        """How the episode ended, or how it stands; gold."""
        return self._chat.outcome


def grpo_environment(env_id: str, *, split: str | None = "train", **env_args: Any) -> type[GRPOEnvironment]:
    """Return the class of an environment, for `environment_factory`. TRL logs its reward under the class's name.

    A model that calls `act` with what is no action loses a step, and is told what was expected. A call after the end
    changes nothing. TRL knows no end of an episode, so set `max_tool_calling_iterations` to the environment's limit of
    steps. It ends an episode itself when an answer has no call that it can read, or does not fit
    `max_completion_length`: then the reward is what the episode has brought so far.

    Args:
        env_id: The environment's id.
        split: The tasks. None for an environment that has no splits.
        env_args: Further arguments of the environment.
    """
    name = re.sub(r"\W", "_", re.sub(r"-v\d+$", "", env_id.rpartition("/")[2]))
    members = {"_env_id": env_id, "_env_args": _env_args(split, env_args), "__doc__": f"An episode of {env_id}."}
    return type(name, (GRPOEnvironment,), members)


def grpo_dataset(env_id: str, **options: Any) -> "Dataset":
    """Return tasks as a dataset for `GRPOTrainer`, with the columns and the options of `grpo_rows`.

    Args:
        env_id: The environment's id.
        options: `split n seed environment`, and further arguments of the environment. See `grpo_rows`.

    Raises:
        MissingExtra: The package datasets is not installed.
    """
    try:
        from datasets import Dataset
    except ImportError as error:
        raise MissingExtra("datasets", "trl") from error
    return Dataset.from_list(grpo_rows(env_id, **options))


def grpo_rows(
    env_id: str,
    *,
    split: str | None = "train",
    n: int | None = None,
    seed: int = 0,
    environment: str | None = None,
    **env_args: Any,
) -> list[dict[str, Any]]:
    """Return tasks as rows: a group of completions plays the task of a row.

    A prompt is what the environment says once, the same for every task, and an empty turn of the user, which `reset`
    fills. No column has gold.

    Args:
        env_id: The environment's id.
        split: The tasks. None for an environment that has no splits.
        n: Number of rows: the first n tasks, again with other seeds if there are fewer. By default each task once.
        seed: Seed of the first episode of each task. All episodes of a row have the same one.
        environment: Adds a column `environment` with this text, which TRL needs where `environment_factory` is a
            dictionary: it is the key of the environment there.
        env_args: Further arguments of the environment, as in `grpo_environment`.

    Returns:
        Rows with `prompt` (messages), `task_id` (None where an environment names no tasks, and the seed picks) and
        `seed`.

    Raises:
        ValueError: The number of rows can't be known, or is below 1.
    """
    with Chat(env_id, STYLE, **_env_args(split, env_args)) as chat:
        task_ids = chat.task_ids
        if n is None and not task_ids:
            raise ValueError(f"expected a number of rows for {env_id}, which has no list of tasks, got none; pass n=")
        n_rows = len(task_ids) if n is None else n
        if n_rows < 1:
            raise ValueError(f"expected 1 row or more, got n={n_rows}; leave n out for one row per task")
        *said_once, _ = chat.begin(task_id=task_ids[0] if task_ids else None, seed=seed)
    prompt = [*said_once, {"role": "user", "content": ""}]
    named = {} if environment is None else {"environment": environment}
    n_tasks = len(task_ids)
    if not n_tasks:
        return [{"prompt": prompt, "task_id": None, "seed": seed + row, **named} for row in range(n_rows)]
    return [
        {"prompt": prompt, "task_id": task_ids[row % n_tasks], "seed": seed + row // n_tasks, **named}
        for row in range(n_rows)
    ]


def log_outcomes(
    environments: Sequence[Any], log_metric: Callable[[str, float], Any], **row: Any
) -> list[float | None]:
    """Log how episodes ended, as a reward function of `GRPOTrainer` that gives no reward: see `METRICS`.

    Args:
        environments: The environments of a batch's completions. Those of others are left out.
        log_metric: TRL's function that logs a number.
        row: What else TRL passes. It is not used.
    """
    ours = [one for one in environments if isinstance(one, GRPOEnvironment)]
    for one in ours:
        found = one.outcome.metrics
        for name in METRICS:
            log_metric(f"{type(one).__name__}/{name}", found[name])
    return [None] * len(environments)


def _env_args(split: str | None, env_args: Mapping[str, Any]) -> dict[str, Any]:
    return {**env_args} if split is None else {**env_args, "split": split}
