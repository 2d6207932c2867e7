"""Language models as policies and value models: low-rank adapters on a model of transformers, or a head on its states.

A value model's model is frozen, or trained along with the head.

A policy's log-probability of an action is the sum over the tokens of the whole answer, with the one that ends it. Where
a row has what a model was sent and said, that is what is trained on. Otherwise it is the environment's prompt for the
state, and the action as an answer.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from safetensors.torch import load_file

from iad_policy.models.hf.client import HFModel
from iad_policy.models.hf.likelihood import PromptReader, read_answers
from iad_policy.models.hf.weights import HFWeights, fresh_weights
from iad_policy.prompts import domain_prompts
from iad_policy.registry.domain import domain_by_id
from iad_policy.trained.features import Features, load_features, offers_actions
from iad_policy.trained.heads import Array, Head, drawn
from iad_policy.trained.rows import Row
from iad_policy.types import Candidate, State, Usage
from iad_policy.types.call_context import current_call
from iad_policy.types.hashing import digest

ADAPTER, HEAD, NETWORK = "adapter.safetensors", "head.safetensors", "network.safetensors"
ACTOR = "actor_direct"


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


class ValueNetwork(torch.nn.Module):  # type: ignore[misc]
    """A whole model with a head: the value at each token, shape (rows, tokens).

    The weights are float32, as steps of 1e-5 are lost in bfloat16. They are trained in the model's own type.

    Args:
        model: The language model. Its layers are changed.
        head: What makes values of the last layer's states.
    """

    def __init__(self, model: Any, head: torch.nn.Module) -> None:
        super().__init__()
        self._type = model.dtype
        self.backbone = model.float().base_model.requires_grad_()
        self.head = head

    def forward(self, **given: Any) -> torch.Tensor:
        """Return the values at tokens, which are given as to a model of transformers."""
        with torch.autocast(self.backbone.device.type, self._type, enabled=self._type != torch.float32):
            states = self.backbone(**given).last_hidden_state
        values: torch.Tensor = self.head(states.float())[..., 0]
        return values


class HFBackend:
    """A language model with what was trained: adapters, or a head. It is a `Backend`.

    Args:
        env: The environment's id.
        head: What it is for.
        spec: The model, as after `hf:`.
        rank: Rank of the adapters, on all linear layers. Their scale is 2.
        network: Of a value model. `frozen` is a head of two linear layers on a frozen model. `published` is that of
            QLASS (arXiv 2502.02584): a head of three, two of them hidden with 1,024 units, and the model trained along.
        mode: The environment's mode, which may have prompts of its own.
        decode: `offered` scores the actions that the environment's features offer, and samples among them. `free`
            writes an answer, which the agent reads. "" is `offered` where there are features.
        prompt: What it is asked with, where a row has no prompt.
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
        rank: int = 16,
        network: str = "frozen",
        mode: str = "",
        decode: str = "",
        prompt: str = ACTOR,
        seed: int = 0,
    ) -> None:
        own = domain_by_id(env)
        self.name = f"hf:{spec}"
        features = load_features(env) if own.features else None
        self._features: Features | None = features if features is not None and offers_actions(features) else None
        self.decode = _decode(decode, self._features)
        self.weights: HFWeights = fresh_weights(spec)
        self._head_kind = head
        self._network = _network(network, head)
        self._asked_with = prompt
        self._options = {"rank": rank, "network": network, "mode": mode, "decode": self.decode, "prompt": prompt}
        self._prompts = domain_prompts(own, mode)
        self._scored: OrderedDict[str, tuple[list[Any], Array]] = OrderedDict()
        self._reader = PromptReader(self.weights)
        self._states: dict[tuple[Any, ...], torch.Tensor] = {}
        torch.manual_seed(seed)
        if head == "policy":
            shape = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", lora_dropout=0.0)
            self._trained: Any = get_peft_model(self.weights.model, shape)
        else:
            self._head = _value_head(int(self.weights.model.config.hidden_size), network).to(self.weights.model.device)
            self._trained = ValueNetwork(self.weights.model, self._head) if network == "published" else self._head
        self._trained.eval()

    @property
    def identity(self) -> str:
        """The weights, the prompts and a hash of what was trained."""
        trained = {name: one.float().cpu().numpy() for name, one in sorted(self.parameters().items())}
        prompts = self._prompts.digest([self._asked_with])
        return f"{self.name} {self.weights.identity} {self.decode} {prompts} {digest(trained)}"

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that another backend needs to read the same parameters."""
        return self._options

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
                return as_array(self._head(self._last_states(batch))[:, 0])
        found = np.zeros(len(batch))
        by_prompt: dict[tuple[int, ...], list[int]] = {}
        for place, one in enumerate(batch):
            by_prompt.setdefault(one.prompt, []).append(place)
        for ids, places in by_prompt.items():
            prompt = self._reader.read(ids, batch[places[0]].n_fixed)
            answers = read_answers(self.weights, prompt, [batch[place].answer for place in places])
            found[places] = [float(tokens.double().sum()) for tokens, _ in answers]
        return found

    def sample(self, state: State, *, temperature: float, rng: Random, avoid: Sequence[Any] = ()) -> Candidate:
        """Return an offered action, drawn by its likelihood among those that are offered."""
        actions, sums = self._offered(state)
        likely = sums - np.logaddexp.reduce(sums)
        others = [place for place, action in enumerate(actions) if action not in avoid]
        places = np.array(others or range(len(actions)))
        place = places[drawn(likely[places], temperature, rng)]
        return Candidate(actions[place], logprobs=(float(likely[place]),))

    def client(self) -> HFModel:
        """Return a client that writes with this model."""
        return HFModel(self.weights, adapter=digest(self.identity))

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

    def load(self, folder: Path) -> None:
        """Read the parameters of a trained model."""
        self.put(load_file(folder / self._file))

    @property
    def _file(self) -> str:
        return ADAPTER if self._head_kind == "policy" else NETWORK if self._network == "published" else HEAD

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
        if self._network == "published":
            self._states.clear()

    def _encoded(self, row: Row) -> Encoded:
        messages = row.prompt or self._messages(row.state)
        text = row.text or self._written(row.action)
        return Encoded(
            row,
            tuple(self.weights.prompt_ids(messages)),
            tuple(self.weights.answer_ids(text)),
            self.weights.n_fixed(messages),
        )

    def _written(self, action: Any) -> str:
        return self._prompts.rendering.written(action, "Action")

    def _messages(self, state: State) -> tuple[dict[str, str], ...]:
        values = self._prompts.rendering.values(state)
        return self._prompts.render(self._asked_with, **{**values, "refine": "", "answer_format": ""}).messages()

    def _offered(self, state: State) -> tuple[list[Any], Array]:
        """Return the offered actions of a state with the log-probabilities of the answers that say them."""
        assert self._features is not None
        actions = list(self._features.actions(state))
        messages = self._messages(state)
        ids = self.weights.prompt_ids(messages)
        name = digest(ids, actions)
        if name not in self._scored:
            answers = [self.weights.answer_ids(self._written(action)) for action in actions]
            prompt = self._reader.read(ids, self.weights.n_fixed(messages))
            read = read_answers(self.weights, prompt, answers)
            self._scored[name] = actions, np.array([float(tokens.double().sum()) for tokens, _ in read])
            n_read = sum(map(len, answers))
            current_call().report(Usage(prompt_tokens=len(ids), completion_tokens=n_read))
            while len(self._scored) > 64:  # strategies sample a state several times
                self._scored.popitem(last=False)
        self._scored.move_to_end(name)
        return self._scored[name]

    def _last_states(self, batch: Sequence[Encoded]) -> torch.Tensor:
        """Return the last layer's state of each row's last token. They are kept while the model is as it is."""
        missing: dict[tuple[int, ...], list[Encoded]] = {}
        for one in batch:
            if (one.prompt, one.answer) not in self._states:
                missing.setdefault(one.prompt, []).append(one)
        for ids, some in missing.items():
            prompt = self._reader.read(ids, some[0].n_fixed)
            read = read_answers(self.weights, prompt, [one.answer for one in some])
            for one, (_, state) in zip(some, read, strict=True):
                self._states[one.prompt, one.answer] = state
        states = torch.stack([self._states[one.prompt, one.answer] for one in batch])
        return states.to(self.weights.model.device)


def _decode(given: str, features: Features | None) -> str:
    if given not in ("", "offered", "free"):
        raise ValueError(f"expected decode to be offered or free, got {given!r}; pass one of the two")
    if given == "offered" and features is None:
        raise ValueError("expected an environment with features for decode=offered, got none; pass decode=free")
    return given or ("free" if features is None else "offered")


def _network(given: str, head: Head) -> str:
    if given not in ("frozen", "published"):
        raise ValueError(f"expected network to be frozen or published, got {given!r}; pass one of the two")
    if given == "published" and head == "policy":
        raise ValueError("expected a value model (qnet) for network=published, got a policy; leave the option out")
    return given


def _value_head(width: int, network: str) -> torch.nn.Module:
    linear, relu = torch.nn.Linear, torch.nn.ReLU
    if network == "published":
        return torch.nn.Sequential(linear(width, 1024), relu(), linear(1024, 1024), relu(), linear(1024, 1))
    return torch.nn.Sequential(torch.nn.LayerNorm(width), linear(width, 256), relu(), linear(256, 1))


def _watched(batch: Sequence[Encoded]) -> list[int]:
    """Return up to 16 rows with different states, evenly spread."""
    first = list({one.prompt: place for place, one in reversed(list(enumerate(batch)))}.values())
    first.sort()
    return [first[int(place)] for place in np.linspace(0, len(first) - 1, min(16, len(first)))]


def as_array(values: torch.Tensor) -> Array:
    """Return a tensor as an array."""
    found: Array = values.double().cpu().numpy()
    return found
