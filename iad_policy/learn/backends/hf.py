"""Language models as policies and value models: low-rank adapters on a model of transformers, or a head on its states.

A policy's log-probability of an action is the sum over the tokens of the whole answer, with the one that ends it. Where
a row has what a model was sent and said, that is what is trained on. Otherwise it is the environment's prompt for the
state, and the action as an answer.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from safetensors.torch import load_file, save_file

from iad_policy.agents.language import LanguageAgent, language_agent
from iad_policy.learn.backends import Head, NotFinite
from iad_policy.learn.backends.hf_training import fit_policy, is_first_process, micro_batches, out_of_memory
from iad_policy.learn.features import Features, load_features
from iad_policy.learn.fitting import Fitted, Schedule, fit
from iad_policy.learn.objectives import Array, Objective, Stored
from iad_policy.learn.recipes import Examples
from iad_policy.learn.rows import Row
from iad_policy.models.call_context import current_call
from iad_policy.models.hf.client import LEAST_TEMPERATURE, HFModel
from iad_policy.models.hf.likelihood import PromptReader, answer_logprobs, read_answers
from iad_policy.models.hf.weights import HFWeights, fresh_weights
from iad_policy.prompts import Prompts
from iad_policy.registry.domain import DEFAULTS, Defaults
from iad_policy.types import Candidate, State, Usage
from iad_policy.types.hashing import digest

ADAPTER, HEAD = "adapter.safetensors", "head.safetensors"
STYLE = "actor_direct"
RANK = 16
RATES: Mapping[Head, float] = {"policy": 2e-4, "value": 1e-3}
N_HIDDEN = 256
N_KEPT = 64
"""States whose likelihoods are kept: strategies sample a state several times."""
N_WATCHED = 16
"""States over which the KL from the start is computed."""
SCHEDULES: Mapping[str, Schedule] = {
    "bc": Schedule(epochs=3, batch=8),
    "rft": Schedule(epochs=3, batch=8),
    "dpo": Schedule(epochs=2, batch=4, max_kl=0.5),
    "eto": Schedule(epochs=2, batch=2, max_kl=0.5),
    "qnet": Schedule(epochs=200),
}


@dataclass(frozen=True, slots=True)
class Encoded:
    """A row as tokens.

    Attributes:
        row: The row.
        prompt: Tokens up to where the answer begins.
        answer: Tokens of the answer, with the one that ends it.
        n_fixed: How many tokens other prompts begin with too.
    """

    row: Row
    prompt: tuple[int, ...]
    answer: tuple[int, ...]
    n_fixed: int


class HFBackend:
    """A language model that is trained. It is a `Backend`.

    Args:
        env: The environment's id.
        head: What it is for.
        spec: The model, as after `hf:`.
        rate: Learning rate of AdamW.
        rank: Rank of the adapters, on all linear layers. Their scale is 2.
        micro: Rows, or pairs, that are computed at a time. Batches are sums of them. By default 2 on a processor and 8
            on a GPU.
        mode: The environment's mode, which may have prompts of its own.
        decode: `offered` scores the actions that the environment's features offer, and samples among them. `free`
            writes an answer, which the agent reads. "" is `offered` where there are features.
        seed: Seed of the adapters.

    Attributes:
        weights: The model, with its adapters.
    """

    def __init__(
        self,
        env: str,
        head: Head,
        spec: str,
        *,
        rate: float | None = None,
        rank: int = RANK,
        micro: int | None = None,
        mode: str = "",
        decode: str = "",
        seed: int = 0,
    ) -> None:
        own = DEFAULTS.get(env, Defaults())
        self.name = f"hf:{spec}"
        self.rate = rate or RATES[head]
        self.decode = _decode(decode, own)
        self.micro = micro or (8 if torch.cuda.is_available() else 2)
        self.weights: HFWeights = fresh_weights(spec)
        self._head_kind = head
        self._options = {"rank": rank, "mode": mode, "decode": self.decode}
        self._features: Features | None = load_features(env) if own.features else None
        self._prompts = Prompts(own.prompts_in(mode))
        self._scored: OrderedDict[str, tuple[list[Any], Array]] = OrderedDict()
        self._reader = PromptReader(self.weights)
        self._states: dict[tuple[Any, ...], torch.Tensor] = {}
        torch.manual_seed(seed)
        if head == "policy":
            shape = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", lora_dropout=0.0)
            self._trained: Any = get_peft_model(self.weights.model, shape)
        else:
            self._trained = _value_head(int(self.weights.model.config.hidden_size))
        self._trained.eval()
        self._optimiser: torch.optim.Optimizer | None = None

    @property
    def identity(self) -> str:
        """The weights, the prompts and a hash of what was trained."""
        trained = {name: one.float().cpu().numpy() for name, one in sorted(self.parameters().items())}
        return f"{self.name} {self.weights.identity} {self.decode} {self._prompts.digest([STYLE])} {digest(trained)}"

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that another backend needs to read the same parameters."""
        return self._options

    @property
    def model(self) -> Any:
        """The model with its adapters, which a trainer may wrap."""
        return self._trained

    def schedule(self, recipe: str) -> Schedule:
        """Return how long a recipe trains, if nothing else is said."""
        return SCHEDULES.get(recipe, Schedule(epochs=1, batch=8))

    def parameters(self) -> dict[str, torch.Tensor]:
        """Return what is trained, by name."""
        own = (
            get_peft_model_state_dict(self._trained, save_embedding_layers=False)
            if self._head_kind == "policy"
            else self._trained.state_dict()
        )
        return {name: one.detach() for name, one in own.items()}

    def batch(self, rows: Sequence[Row]) -> list[Encoded]:
        """Return rows as tokens."""
        return [self._encoded(row) for row in rows]

    def outputs(self, batch: Sequence[Encoded]) -> Array:
        """Return the log-probability of each row's answer, or its value."""
        if self._head_kind == "value":
            with torch.no_grad():
                return _array(self._trained(self._last_states(batch))[:, 0])
        found = np.zeros(len(batch))
        by_prompt: dict[tuple[int, ...], list[int]] = {}
        for place, one in enumerate(batch):
            by_prompt.setdefault(one.prompt, []).append(place)
        for ids, places in by_prompt.items():
            prompt = self._reader.read(ids, batch[places[0]].n_fixed)
            answers = read_answers(self.weights, prompt, [batch[place].answer for place in places])
            found[places] = [float(tokens.double().sum()) for tokens, _ in answers]
        return found

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
            values = self._trained(self._last_states(batch))[:, 0]
            loss, slopes = _finite(objective, _array(values.detach()), stored)
            (values * _tensor(slopes, values)).sum().backward()
        else:
            loss, slopes = _finite(objective, self.outputs(batch), stored)
            with out_of_memory("tasks", len(batch)):
                for places in micro_batches([len(one.prompt) + len(one.answer) for one in batch]):
                    some = [batch[place] for place in places]
                    likely = answer_logprobs(
                        self.weights, self._trained, [one.prompt for one in some], [one.answer for one in some]
                    )
                    (likely * _tensor(slopes[places], likely)).sum().backward()
        torch.nn.utils.clip_grad_norm_(self._trained.parameters(), 1.0)
        optimiser.step()
        self.forget()
        return loss

    def fit(self, examples: Examples, schedule: Schedule, *, folder: Path, seed: int = 0, asked: str = "") -> Fitted:
        """Change the parameters to fit examples: see `fitting.fit`. A policy is trained by transformers' trainer."""
        if self._head_kind == "value":
            return fit(self, examples, schedule, folder=folder, seed=seed, asked=asked)
        try:
            return fit_policy(self, examples, schedule, folder=folder, seed=seed, asked=asked)
        finally:
            self.forget()

    def sample(self, state: State, *, temperature: float, rng: Random, avoid: Sequence[Any] = ()) -> Candidate:
        """Return an offered action, drawn by its likelihood among those that are offered."""
        actions, sums = self._offered(state)
        likely = sums - np.logaddexp.reduce(sums)
        others = [place for place, action in enumerate(actions) if action not in avoid]
        places = np.array(others or range(len(actions)))
        among = likely[places]
        if temperature < LEAST_TEMPERATURE:
            place = places[int(among.argmax())]
        else:
            odds = np.exp((among - among.max()) / temperature).cumsum()
            place = places[min(int(np.searchsorted(odds, rng.random() * odds[-1], "right")), len(odds) - 1)]
        return Candidate(actions[place], logprobs=(float(likely[place]),))

    def writer(self, env: "gym.Env[Any, Any]", *, temperature: float, max_tokens: int) -> LanguageAgent:
        """Return an agent that writes with this model, in the words that it was trained with."""
        model = HFModel(self.weights, adapter=digest(self.identity))
        return language_agent(env, model, "direct", temperature=temperature, max_tokens=max_tokens)

    def values(self, state: State, actions: Sequence[Any]) -> Array:
        """Return the values of actions in a state."""
        return self.outputs(self.batch([Row(state, action) for action in actions]))

    def reference(self, batch: Sequence[Encoded]) -> dict[int, Array]:
        """Return the likelihoods of the offered actions of some of the states, or those of the rows."""
        if self.decode == "free":
            return {0: self.outputs(batch)}
        return {place: self._offered(batch[place].row.state)[1] for place in _watched(batch)}

    def divergence(self, batch: Sequence[Encoded], reference: Mapping[int, Array]) -> float:
        """Return the mean KL from the policy of the reference.

        With offered actions it is exact, over up to 16 states. Else it is estimated on the rows.
        """
        if self.decode == "free":
            behind = reference[0] - self.outputs(batch)
            return float((np.exp(behind) - behind - 1).mean())
        found = []
        for place, theirs in reference.items():
            mine = self._offered(batch[place].row.state)[1]
            mine, theirs = mine - np.logaddexp.reduce(mine), theirs - np.logaddexp.reduce(theirs)
            found.append(float((np.exp(mine) * (mine - theirs)).sum()))
        return float(np.mean(found))

    def copy(self) -> "HFBackend":
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
        save_file(own, folder / (ADAPTER if self._head_kind == "policy" else HEAD))

    def load(self, folder: Path) -> None:
        """Read what `save` wrote."""
        self.put(load_file(folder / (ADAPTER if self._head_kind == "policy" else HEAD)))

    def put(self, parameters: dict[str, torch.Tensor]) -> None:
        """Replace what is trained."""
        if self._head_kind == "policy":
            set_peft_model_state_dict(self._trained, parameters)
        else:
            self._trained.load_state_dict(parameters)
        self.forget()

    def forget(self) -> None:
        """Drop what was computed with other parameters."""
        self._scored.clear()
        self._reader.forget()

    def _encoded(self, row: Row) -> Encoded:
        messages = row.prompt or self._messages(row.state)
        text = row.text or f"Action: {row.action}"
        return Encoded(
            row,
            tuple(self.weights.prompt_ids(messages)),
            tuple(self.weights.answer_ids(text)),
            self.weights.n_fixed(messages),
        )

    def _messages(self, state: State) -> tuple[dict[str, str], ...]:
        values = self._prompts.rendering.values(state)
        return self._prompts.render(STYLE, **{**values, "refine": "", "answer_format": ""}).messages()

    def _offered(self, state: State) -> tuple[list[Any], Array]:
        """Return the offered actions of a state with the log-probabilities of the answers that say them."""
        assert self._features is not None
        actions = list(self._features.actions(state))
        messages = self._messages(state)
        ids = self.weights.prompt_ids(messages)
        name = digest(ids, actions)
        if name not in self._scored:
            answers = [self.weights.answer_ids(f"Action: {action}") for action in actions]
            prompt = self._reader.read(ids, self.weights.n_fixed(messages))
            read = read_answers(self.weights, prompt, answers)
            self._scored[name] = actions, np.array([float(tokens.double().sum()) for tokens, _ in read])
            n_read = sum(map(len, answers))
            current_call().report(Usage(prompt_tokens=len(ids), completion_tokens=n_read))
            while len(self._scored) > N_KEPT:
                self._scored.popitem(last=False)
        self._scored.move_to_end(name)
        return self._scored[name]

    def _last_states(self, batch: Sequence[Encoded]) -> torch.Tensor:
        """Return the last layer's state of each row's last token. The model is frozen, so they are kept."""
        missing: dict[tuple[int, ...], list[Encoded]] = {}
        for one in batch:
            if (one.prompt, one.answer) not in self._states:
                missing.setdefault(one.prompt, []).append(one)
        for ids, some in missing.items():
            prompt = self._reader.read(ids, some[0].n_fixed)
            read = read_answers(self.weights, prompt, [one.answer for one in some])
            for one, (_, state) in zip(some, read, strict=True):
                self._states[one.prompt, one.answer] = state
        return torch.stack([self._states[one.prompt, one.answer] for one in batch])


def _decode(given: str, own: Defaults) -> str:
    if given not in ("", "offered", "free"):
        raise ValueError(f"expected decode to be offered or free, got {given!r}; pass one of the two")
    if given == "offered" and not own.features:
        raise ValueError("expected an environment with features for decode=offered, got none; pass decode=free")
    return given or ("offered" if own.features else "free")


def _value_head(width: int) -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.LayerNorm(width), torch.nn.Linear(width, N_HIDDEN), torch.nn.ReLU(), torch.nn.Linear(N_HIDDEN, 1)
    )


def _watched(batch: Sequence[Encoded]) -> list[int]:
    """Return up to 16 rows with different states, evenly spread."""
    first = list({one.prompt: place for place, one in reversed(list(enumerate(batch)))}.values())
    first.sort()
    return [first[int(place)] for place in np.linspace(0, len(first) - 1, min(N_WATCHED, len(first)))]


def _finite(objective: Objective, outputs: Array, stored: Stored) -> tuple[float, Array]:
    loss, slopes = objective(outputs, stored)
    if not np.isfinite(loss) or not np.isfinite(slopes).all():
        raise NotFinite(f"expected a loss that is a number, got {loss}; use a smaller rate")
    return float(loss), slopes


def _array(values: torch.Tensor) -> Array:
    found: Array = values.double().cpu().numpy()
    return found


def _tensor(slopes: Array, like: torch.Tensor) -> torch.Tensor:
    return torch.as_tensor(np.asarray(slopes), dtype=like.dtype, device=like.device)
