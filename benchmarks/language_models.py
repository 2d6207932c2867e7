"""Measures what a language model meets: reading of answers, prompts, verifiers, and a model on this machine.

The local model is the GGUF file that `--model` or `$IAD_LOCAL_MODEL` names, else SmolLM2-135M if it was fetched. The
targets were set for Qwen2.5-Coder-0.5B-Instruct, Q4_K_M. `--full` adds the proxy verifiers' AUC on candidates that they
were not fitted to. `--runs` reads run folders of a language model: shares of prompt tokens from the server's cache, and
of refinements that repeat an earlier attempt.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any
from urllib.request import Request, urlopen

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.bash_evidence import bash_evidence
from support.bird_candidates import sources
from support.bird_evidence import bird_evidence
from support.figures import figure
from support.measured_models import MeasuredRun
from support.prompt_tokens import report_webshop_prompts
from support.verifier_evidence import VerifierEvidence
from support.webshop_evidence import webshop_evidence

from iad_policy.models import Completion
from iad_policy.models.call_context import Call, use_call
from iad_policy.models.local import PACKAGE, LocalModel, find_model
from iad_policy.models.local.fetch import models_folder
from iad_policy.models.local.process import ServerProcess
from tests.iad_policy.models.answer_table import TABLES, rows

MODEL_VARIABLE = "IAD_LOCAL_MODEL"
METRICS = ("local_overhead_ratio", "four_samples_ratio")
N_PROMPT_WORDS, N_ANSWER, N_SAMPLES = 700, 64, 4
TEMPERATURE = 0.7
_numbers = count()


class Measured:
    """A model, and its server called directly.

    Args:
        path: The model's file.
    """

    def __init__(self, path: str) -> None:
        self.servers: list[ServerProcess] = []
        self.model = LocalModel(find_model(path), serve=self._serve)

    def _serve(self, options: Any) -> ServerProcess:
        self.servers.append(ServerProcess(options))
        return self.servers[-1]

    def client(self, prompt: str, n: int = 1) -> list[Completion]:
        """Draw samples of a prompt as a strategy does: each in a thread of its own."""
        siblings = set(range(n))
        stream = f"benchmark:{next(_numbers)}"

        def sample(index: int) -> Completion:
            with use_call(Call(stream, index, siblings=siblings)):
                return self.model.complete(_messages(prompt), temperature=TEMPERATURE, max_tokens=N_ANSWER)

        with ThreadPoolExecutor(n) as pool:
            return list(pool.map(sample, range(n)))

    def direct(self, prompt: str) -> Any:
        """Ask llama.cpp's server with its simplest request."""
        server = self.servers[-1]
        body = {
            "messages": _messages(prompt),
            "temperature": TEMPERATURE,
            "max_tokens": N_ANSWER,
            "seed": next(_numbers),
        }
        plain = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}
        request = Request(
            f"http://{server.host}:{server.port}/v1/chat/completions",
            json.dumps({**body, **plain}).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {server.key}"},
        )
        with urlopen(request) as answer:
            return json.load(answer)


def prompt_of(topic: str) -> str:
    """Return a prompt of about 740 tokens, whose beginning no earlier one had."""
    return f"{next(_numbers)} {topic}: write a long story of many chapters about a fox. " + "word " * N_PROMPT_WORDS


def answers() -> None:
    """Print the share of the answers in the tables of shapes that are read as they should be."""
    for table in TABLES:
        read = [row.is_read_right() for row in rows(table)]
        figure(f"answer_round_trip_{table}", sum(read) / len(read), "share", target=1.0, better="higher", n=len(read))


def verifiers() -> None:
    """Print how well the proxy verifiers tell success on tasks and candidates that they were not fitted to."""
    of_verifier("webshop_buy", webshop_evidence(), target=0.75)
    of_verifier("bash_submit", bash_evidence(), target=0.75)
    for source in sources("held_out"):
        of_verifier(f"bird_{source}", bird_evidence(source), target=0.7)


def of_verifier(name: str, found: VerifierEvidence, *, target: float) -> None:
    """Print a verifier's AUC, or that it can't be told from so few candidates, and its calibration error."""
    if found.auc is None:
        line = {
            "metric": f"{name}_auc",
            "value": None,
            "why": f"cannot be told: {found.n_pos} right, {found.n_neg} wrong",
        }
        print(json.dumps(line), flush=True)
    else:
        figure(f"{name}_auc", found.auc, "AUC", target=target, better="higher", n=found.n_pos + found.n_neg)
    if found.ece is not None:
        figure(f"{name}_ece", found.ece, "probability", n=found.n_pos + found.n_neg)


def recorded(folder: Path) -> None:
    """Print the figures of a run folder of a language model."""
    run = MeasuredRun(folder)
    figure(f"cached_share_{folder.name}", run.cached_share(), "share", better="higher")
    for arm in (arm for arm in run.arms if arm.startswith("iad ") and not arm.endswith(" 1")):
        told = run.uptake(arm)
        figure(f"repeats_{folder.name}_{arm.replace(' ', '')}", told.n_repeats / max(1, told.n), "share", n=told.n)


def overhead(measured: Measured, n: int) -> None:
    """Compare the client with the server called directly, per answer token, on a prompt that the server has read.

    Reading it anew would take most of the time, and hide what the client adds.
    """
    prompt = prompt_of("overhead")
    measured.direct(prompt)
    ours, theirs = [], []
    for _ in range(n):
        seconds, (answer,) = timed(lambda: measured.client(prompt))
        ours.append(seconds / answer.usage.completion_tokens)
        seconds, plain = timed(lambda: measured.direct(prompt))
        theirs.append(seconds / plain["usage"]["completion_tokens"])
    figure("local_overhead_ratio", 1e3 * median(ours), "ms", baseline=1e3 * median(theirs), ratio_target=1.05, n=n)
    figure("local_generated_per_s", 1 / median(ours), "tokens/s", better="higher", n=n)


def four_samples(measured: Measured, n: int) -> None:
    """Compare four samples of a prompt with one, each time of a prompt that the server has not read."""
    four, one, reading = [], [], []
    for _ in range(n):
        seconds, answers = timed(lambda: measured.client(prompt_of("four"), N_SAMPLES))
        four.append(seconds)
        warn_if_short(answers)
        seconds, answers = timed(lambda: measured.client(prompt_of("one")))
        one.append(seconds)
        warn_if_short(answers)
        reading.append(answers[0].usage.prompt_tokens)
    figure("four_samples_ratio", median(four), "s", baseline=median(one), ratio_target=1.6, n=n)
    figure("local_prompt_tokens", median(reading), "tokens", n=n)


def warn_if_short(answers: Sequence[Completion]) -> None:
    """Say if an answer ended before its limit, which makes the figures too good."""
    short = [one.usage.completion_tokens for one in answers if one.usage.completion_tokens < N_ANSWER]
    if short:
        print(f"answers of {short} tokens instead of {N_ANSWER}", file=sys.stderr)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that some work takes, and its result."""
    start = perf_counter()
    result = work()
    return perf_counter() - start, result


def _messages(prompt: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}]


def without(reason: str) -> None:
    """Print the figures without values."""
    for metric in METRICS:
        print(json.dumps({"metric": metric, "value": None, "why": reason}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="more runs of each measurement")
    parser.add_argument("--model", default=os.environ.get(MODEL_VARIABLE), help="a GGUF file")
    parser.add_argument("--runs", nargs="*", type=Path, default=(), help="run folders of a language model")
    given = parser.parse_args()
    answers()
    report_webshop_prompts()
    if given.full:
        verifiers()
    for folder in given.runs:
        recorded(folder)
    if find_spec(PACKAGE) is None:
        without(f"{PACKAGE} is not installed: pip install -e '.[local]'")
        return
    if given.model is None and not (models_folder() / "smollm2.gguf").is_file():
        without(f"no model: {MODEL_VARIABLE} is not set, and SmolLM2 was not fetched (make test-model)")
        return
    measured = Measured(given.model or "smollm2")
    seconds, _ = timed(lambda: measured.client("Hello"))
    figure("local_ready_s", seconds, "s")
    overhead(measured, 9 if given.full else 4)
    four_samples(measured, 5 if given.full else 1)
    measured.model.release()


if __name__ == "__main__":
    main()
