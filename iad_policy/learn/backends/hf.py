"""Trains language models: low-rank adapters, or a head on the states of the last layer, with the model or without.

All but a head alone is trained with transformers' trainer, which accelerate distributes. A policy's loss is the
objective of the answers' log-probabilities: TRL's preference trainers compute the reference again, and can't take the
stored one.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from itertools import compress
from math import ceil
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch.utils.checkpoint import checkpoint
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback
from transformers.trainer_utils import get_last_checkpoint

from iad_policy.errors import IADError
from iad_policy.learn.examples import Examples, NothingToLearn
from iad_policy.learn.fitting import fit, renumbered
from iad_policy.learn.models import CHECKPOINT, STATE, is_first_process, keep_lines, require_same
from iad_policy.learn.objectives import Objective, Stored, cross_entropy
from iad_policy.learn.progress import advance
from iad_policy.learn.trainable import Fitted, NotFinite, Schedule
from iad_policy.models.hf.likelihood import answer_logprobs, padded
from iad_policy.papers.qstar import VALUE_NETWORK
from iad_policy.trained.backends.hf import Encoded, HFBackend, as_array
from iad_policy.trained.heads import Array, Head
from iad_policy.trained.models import EPOCHS, SIMULATOR, TRAINING
from iad_policy.types.atomic import write_text
from iad_policy.types.hashing import dumps

SCHEDULES: Mapping[str, Schedule] = {
    "bc": Schedule(epochs=3, batch=8),
    "rft": Schedule(epochs=3, batch=8),
    "dpo": Schedule(epochs=2, batch=4, max_kl=0.5),
    "eto": Schedule(epochs=2, batch=2, max_kl=0.5),
    "qnet": Schedule(epochs=200),
    SIMULATOR: Schedule(epochs=3, batch=64, warmup=0.1),
}
N_TOKENS = 4096
"""Tokens that are computed together with gradients."""
TRAINER = f"{CHECKPOINT}-trainer"
"""Folder of what only an interrupted training needs."""


class OutOfMemory(IADError, MemoryError):
    """A batch does not fit the memory."""


class TrainableHFBackend(HFBackend):
    """A language model whose adapters, or whose head, AdamW trains, or the whole with its head. It is a `Trainable`.

    Args:
        env: The environment's id.
        head: What it is for.
        spec: The model, as after `hf:`.
        rate: Learning rate.
        micro: Rows, or pairs, that are computed at a time. Batches are sums of them. By default 2 on a processor and 8
            on a GPU.
        max_length: Rows with more tokens are left out, with the rest of their pair, but for a head alone. By default
            the model's context.
        loss_at: Where a value is compared with its target: at the `last` token of the action, or, with the published
            network, at `every-token` of it. "" is `every-token` where it can be.
        options: Options of `HFBackend`.
    """

    save_s = 600.0
    """Seconds after which a checkpoint is written within an epoch, too, so that a long one can be gone on with."""

    def __init__(
        self,
        env: str,
        head: Head,
        spec: str,
        *,
        rate: float | None = None,
        micro: int | None = None,
        max_length: int | None = None,
        loss_at: str = "",
        **options: Any,
    ) -> None:
        super().__init__(env, head, spec, **options)
        self.loss_at = _loss_at(loss_at, self._network)
        of_head = VALUE_NETWORK["rate"] if self._network == "published" else 1e-3
        self.rate = rate or (2e-4 if head == "policy" else of_head)
        self.micro = micro or (8 if torch.cuda.is_available() else 2)
        self.max_length = min(max_length or self.weights.n_context, self.weights.n_context)
        self._optimiser: torch.optim.Optimizer | None = None

    @property
    def model(self) -> Any:
        """The model with its adapters or its head."""
        return self._trained

    def schedule(self, recipe: str) -> Schedule:
        """Return how long a recipe trains, if nothing else is said."""
        if self._network == "published":
            return Schedule(epochs=VALUE_NETWORK["epochs"], batch=VALUE_NETWORK["batch"])
        return SCHEDULES.get(recipe, Schedule(epochs=1, batch=8))

    def step(self, batch: Sequence[Encoded], objective: Objective, stored: Stored) -> float:
        """Take a step of AdamW, and return the loss before it.

        Raises:
            NotFinite: The loss is no number. The parameters are as they were.
            OutOfMemory: A row does not fit.
        """
        optimiser = self._optimiser = self._optimiser or torch.optim.AdamW(
            [one for one in self._trained.parameters() if one.requires_grad], self.rate, weight_decay=0.0
        )
        optimiser.zero_grad()
        if self._head_kind == "value":
            values = self.scores(batch)
            loss, slopes = _finite(objective, as_array(values.detach()), self.stored_with(batch, stored))
            (values * _tensor(slopes, values)).sum().backward()
        else:
            loss, slopes = _finite(objective, self.outputs(batch), stored)
            with out_of_memory("tasks", len(batch)):
                for places in micro_batches([len(one.prompt) + len(one.answer) for one in batch]):
                    some = [batch[place] for place in places]
                    likely = self.scores(some)
                    (likely * _tensor(slopes[places], likely)).sum().backward()
        torch.nn.utils.clip_grad_norm_(self._trained.parameters(), 1.0)
        optimiser.step()
        self.forget()
        return loss

    def fit(self, examples: Examples, schedule: Schedule, *, folder: Path, seed: int = 0, asked: str = "") -> Fitted:
        """Change the parameters to fit examples: see `fitting.fit`, which trains a head alone."""
        if self._is_head_alone:
            return fit(self, examples, schedule, folder=folder, seed=seed, asked=asked)
        try:
            return _fit_model(self, examples, schedule, folder=folder, seed=seed, asked=asked)
        finally:
            self.forget()

    def scores(self, batch: Sequence[Encoded]) -> torch.Tensor:
        """Return what an objective takes, with gradients: log-probabilities of answers, or values where the loss is.

        Args:
            batch: The rows. Values at every token stand one row after the other.
        """
        if self._is_head_alone:
            return torch.as_tensor(self._trained(self._last_states(batch))[:, 0])
        ids = [one.prompt for one in batch], [one.answer for one in batch]
        if self._head_kind == "policy":
            return answer_logprobs(self.weights, self._trained, *ids)
        values = self._trained(**padded(self.weights, *ids))
        return torch.cat([one[-n:] for one, n in zip(values, self._n_scores(batch), strict=True)])

    def stored_with(self, batch: Sequence[Encoded], stored: Stored) -> Stored:
        """Return what is stored with each score. The tokens of an action share its weight."""
        n = self._n_scores(batch)
        shared = {"weight": stored["weight"] / n} if self.loss_at == "every-token" else {}
        return {name: np.repeat(one, n) for name, one in {**stored, **shared}.items()}

    def _n_scores(self, batch: Sequence[Encoded]) -> list[int]:
        return [len(one.answer) if self.loss_at == "every-token" else 1 for one in batch]

    @property
    def _is_head_alone(self) -> bool:
        return self._head_kind == "value" and self._network == "frozen"

    def copy(self) -> "TrainableHFBackend":
        """Return a model with the same parameters."""
        self.forget()
        self._optimiser = None
        return deepcopy(self)

    def take(self, other: Any) -> None:
        """Take the parameters of another model, and nothing of its optimiser."""
        self.put({name: one.clone() for name, one in other.parameters().items()})

    def save(self, folder: Path) -> None:
        """Write what is trained. Of processes that train together, one writes."""
        if not is_first_process():
            return
        own = {name: one.contiguous().cpu() for name, one in self.parameters().items()}
        save_file(own, folder / self._file)


def _fit_model(
    backend: "TrainableHFBackend", examples: Examples, schedule: Schedule, *, folder: Path, seed: int, asked: str
) -> Fitted:
    """Fit a model with its adapters or its head to examples. The same call again goes on from the last checkpoint.

    Raises:
        ModelFolderError: The folder has a checkpoint of another training.
        NothingToLearn: All rows are too long.
        NotFinite: The loss is no number. The last checkpoint is kept.
        OutOfMemory: A batch does not fit.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / STATE).exists():
        require_same(folder, json.loads((folder / STATE).read_text(encoding="utf-8"))["asked"], asked)
    else:
        write_text(folder / STATE, f"{dumps({'asked': asked})}\n")
    rows, examples, n_long = _that_fit(backend.batch(examples.rows), examples, backend.max_length)
    if not schedule.epochs:
        return Fitted(backend)
    out = folder / TRAINER
    out.mkdir(exist_ok=True)
    batch = min(schedule.batch or examples.n_units, examples.n_units)
    micro = min(batch, backend.micro)
    watch = _Watch(backend, rows, schedule, folder)
    if watch.has_stopped:
        backend.load(out)
        return watch.fitted(n_long)
    units: dict[int, list[int]] = {}
    for row, unit in enumerate(examples.unit):
        units.setdefault(int(unit), []).append(row)
    trainer = _ObjectiveTrainer(
        backend,
        rows,
        examples,
        args=TrainingArguments(
            output_dir=str(out),
            num_train_epochs=schedule.epochs,
            per_device_train_batch_size=micro,
            gradient_accumulation_steps=max(1, batch // (micro * n_processes())),
            learning_rate=backend.rate,
            lr_scheduler_type="cosine",
            warmup_steps=int(schedule.warmup * schedule.epochs * ceil(examples.n_units / batch)),
            weight_decay=0.0,
            save_strategy="epoch",
            save_total_limit=1,
            logging_steps=1,
            report_to=[],
            seed=seed,
            data_seed=seed,
            use_cpu=not torch.cuda.is_available(),
            disable_tqdm=True,
            dataloader_pin_memory=False,
            remove_unused_columns=False,
        ),
        train_dataset=list(units.values()),
        data_collator=lambda some: {"rows": torch.tensor([row for unit in some for row in unit])},
        callbacks=[watch],
    )
    trainer.remove_callback(PrinterCallback)
    backend.model.train()
    try:
        with out_of_memory("micro", micro):
            trainer.train(resume_from_checkpoint=get_last_checkpoint(str(out)))
    finally:
        backend.model.eval()
    return watch.fitted(n_long)


def _that_fit(rows: list[Encoded], examples: Examples, most: int) -> tuple[list[Encoded], Examples, int]:
    """Return what has at most so many tokens, and how many rows were left out."""
    sizes = np.array([len(one.prompt) + len(one.answer) for one in rows])
    keep = ~np.isin(examples.unit, examples.unit[sizes > most])
    if not keep.any():
        raise NothingToLearn(
            f"expected rows of at most {most} tokens, got {len(rows)} of {sizes.min()} or more; pass a greater "
            "--option max_length=, or take a model with a longer context"
        )
    unit = np.unique(examples.unit[keep], return_inverse=True)[1].astype(float)
    stored = {name: one[keep] for name, one in examples.stored.items()}
    kept = Examples(tuple(compress(examples.rows, keep)), stored, unit, examples.objective)
    return list(compress(rows, keep)), kept, int((~keep).sum())


def micro_batches(sizes: Sequence[int], most: int = N_TOKENS) -> Iterator[list[int]]:
    """Yield the places of rows that are computed together: as many as `most` tokens hold with padding, at least one."""
    some: list[int] = []
    for place, size in enumerate(sizes):
        if some and (len(some) + 1) * max(size, *(sizes[other] for other in some)) > most:
            yield some
            some = []
        some.append(place)
    if some:
        yield some


@contextmanager
def out_of_memory(option: str, n: int) -> Iterator[None]:
    """Turn an allocation that fails into an error that names the option with the size of a batch.

    Raises:
        OutOfMemory: The memory did not suffice.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        said = str(error).lower()
        if not isinstance(error, MemoryError) and "out of memory" not in said and "can't allocate memory" not in said:
            raise
        raise OutOfMemory(
            f"expected memory for {n} examples at a time, got {error!s:.200}; pass --option {option}={max(1, n // 2)}, "
            "or take a smaller model"
        ) from error


def n_processes() -> int:
    """Return how many processes train together, as accelerate and torchrun say it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


class _Watch(TrainerCallback):  # type: ignore[misc]
    """Writes `training.jsonl`, and stops when the policy is too far from the one before training."""

    def __init__(self, backend: "TrainableHFBackend", rows: list[Encoded], schedule: Schedule, folder: Path) -> None:
        self._backend, self._rows, self._schedule = backend, rows, schedule
        self._folder, self._path, self._kept = folder, folder / EPOCHS, folder / TRAINING
        self._start = folder / TRAINER / "reference.json"
        self._before: dict[str, Any] = {}
        self._losses: list[float] = []
        self._epochs = json.loads(self._path.read_text()) if self._path.exists() else []
        self._reference: Any = None
        self._saved_at = 0.0

    @property
    def has_stopped(self) -> bool:
        """Whether an earlier call has ended training, and kept the parameters of the epoch before."""
        return bool(self._epochs) and not self._epochs[-1]["is_kept"]

    def fitted(self, n_left_out: int) -> Fitted:
        """Return how it ended."""
        whole = [one for one in self._epochs if one["is_kept"]]
        stopped = ""
        if len(whole) < len(self._epochs):
            far = self._epochs[-1]["kl"]
            stopped = f"the KL from the start rose to {far:.2f} nat, above {self._schedule.max_kl:g}"
        if not whole:
            return Fitted(self._backend, stopped=stopped, n_left_out=n_left_out)
        return Fitted(self._backend, len(whole), whole[-1]["loss"], whole[-1].get("kl"), stopped, n_left_out)

    def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        # What a kill cut off after the last checkpoint is done again.
        self._epochs = self._epochs[: state.global_step // self._n_steps(state)]
        keep_lines(self._folder, state.global_step)
        self._saved_at = monotonic()
        if self._schedule.max_kl is None:
            return
        if self._start.exists():
            self._reference = {int(k): np.array(v) for k, v in json.loads(self._start.read_text()).items()}
        else:
            self._reference = self._backend.reference(self._rows)
            write_text(self._start, dumps({str(k): list(v) for k, v in self._reference.items()}))

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> Any:
        # With a limit on the KL a training goes back to the start of an epoch, which such a checkpoint has not.
        # Processes that train together have clocks of their own, so they save at ends of epochs alone.
        is_free = self._schedule.max_kl is None and n_processes() == 1
        if is_free and monotonic() - self._saved_at > self._backend.save_s:
            control.should_save = True
            self._saved_at = monotonic()
        return control

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        n_done = state.global_step % self._n_steps(state)  # in a call before that was killed
        lines = self._kept.read_text(encoding="utf-8").splitlines()[-n_done:] if n_done else []
        self._losses = [float(json.loads(line)["loss"]) for line in lines]
        if self._reference is not None:
            self._before = {name: one.clone() for name, one in self._backend.parameters().items()}

    @staticmethod
    def _n_steps(state: Any) -> int:
        """Return the steps of an epoch."""
        return max(1, int(state.max_steps) // int(state.num_train_epochs))

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **others: Any) -> None:
        if logs and "loss" in logs:
            self._losses.append(float(logs["loss"]))
        if logs and "loss" in logs and state.is_world_process_zero:
            line = {"step": state.global_step, "loss": logs["loss"], "rate": logs.get("learning_rate")}
            with self._kept.open("a", encoding="utf-8") as log:
                log.write(f"{dumps(line)}\n")
            advance("training", state.global_step, state.max_steps)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **others: Any) -> Any:
        line: dict[str, Any] = {"loss": float(np.mean(self._losses)) if self._losses else None, "is_kept": True}
        if self._reference is not None:
            self._backend.forget()
            self._backend.model.eval()
            line["kl"] = self._backend.divergence(self._rows, self._reference)
            self._backend.model.train()
            if line["kl"] > (self._schedule.max_kl or 0.0):
                line["is_kept"] = False
                self._backend.put(self._before)
                self._backend.save(self._folder / TRAINER)  # for a rerun that is killed before the end
                control.should_training_stop = True
        self._epochs.append(line)
        write_text(self._path, json.dumps(self._epochs))
        return control


class _Scorer(torch.nn.Module):  # type: ignore[misc]
    """What a trainer wraps: one call gives the scores of rows, in whatever parts they are computed.

    Processes that train together wait for each other in each call, so all of them have to make equally many.
    """

    def __init__(self, backend: "TrainableHFBackend", rows: list[Encoded]) -> None:
        super().__init__()
        self.model = backend.model  # whose parameters are trained
        self._backend, self._rows = backend, rows

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the scores. Beyond `N_TOKENS`, parts are computed again in the backward pass."""
        batch = [self._rows[row] for row in rows.tolist()]

        def of(*places: int) -> torch.Tensor:
            return self._backend.scores([batch[place] for place in places])

        parts = list(micro_batches([len(one.prompt) + len(one.answer) for one in batch]))
        if len(parts) == 1:
            return of(*parts[0])
        return torch.cat([checkpoint(of, *part, use_reentrant=False) for part in parts])


class _ObjectiveTrainer(Trainer):  # type: ignore[misc]
    """A trainer whose loss is an objective of the rows' scores, per token where it is cross-entropy."""

    def __init__(self, backend: "TrainableHFBackend", rows: list[Encoded], examples: Examples, **others: Any) -> None:
        super().__init__(model=_Scorer(backend, rows), **others)
        self._backend, self._rows, self._examples = backend, rows, examples
        self.model_accepts_loss_kwargs = False
        # Per token, as is usual: sums over answers of a hundred tokens would be cut at every step.
        is_plain = examples.objective is cross_entropy
        self._scale = 1 / float(np.mean([len(one.answer) for one in rows])) if is_plain else 1.0

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **others: Any) -> Any:
        """Return the loss, with the objective's slopes as its gradient with respect to the scores."""
        rows = inputs["rows"].tolist()
        stored = {name: one[rows] for name, one in self._examples.stored.items()}
        if "side" in stored:
            stored["side"] = renumbered(stored["side"])
        scores = model(inputs["rows"])
        of_scores = self._backend.stored_with([self._rows[row] for row in rows], stored)
        loss, slopes = self._examples.objective(as_array(scores.detach()), of_scores)
        if not np.isfinite(loss):
            raise NotFinite(
                f"expected a loss that is a number, got {loss}; use a smaller rate than {self._backend.rate:g}"
            )
        sloped = (scores * _tensor(slopes, scores)).sum()
        return self._scale * (sloped - sloped.detach() + float(loss))

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Write a checkpoint's weights: those that are trained."""
        assert output_dir is not None
        Path(output_dir).mkdir(parents=True, exist_ok=True)
        self._backend.save(Path(output_dir))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        self._backend.load(Path(resume_from_checkpoint))


def _loss_at(given: str, network: str) -> str:
    if given not in ("", "last", "every-token"):
        raise ValueError(f"expected loss_at to be last or every-token, got {given!r}; pass one of the two")
    if given == "every-token" and network != "published":
        raise ValueError(
            f"expected network=published for loss_at=every-token, got {network}; pass --option network=published"
        )
    return given or ("every-token" if network == "published" else "last")


def _finite(objective: Objective, outputs: Array, stored: Stored) -> tuple[float, Array]:
    loss, slopes = objective(outputs, stored)
    if not np.isfinite(loss) or not np.isfinite(slopes).all():
        raise NotFinite(f"expected a loss that is a number, got {loss}; use a smaller rate")
    return float(loss), slopes


def _tensor(slopes: Array, like: torch.Tensor) -> torch.Tensor:
    return torch.as_tensor(np.asarray(slopes), dtype=like.dtype, device=like.device)
