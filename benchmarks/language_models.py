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
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.bash_verifier import bash_evidence
from support.bird_verifier import bird_evidence, sources
from support.figures import figure
from support.local_model import report_local_model
from support.measured_models import MeasuredRun
from support.prompt_tokens import report_webshop_prompts
from support.webshop_verifier import webshop_evidence

from iad_policy.models.local import PACKAGE
from iad_policy.models.local.fetch import models_folder
from iad_policy.report.verifier_evidence import VerifierEvidence
from tests.iad_policy.models.answer_table import TABLES, rows

MODEL_VARIABLE = "IAD_LOCAL_MODEL"
METRICS = ("local_overhead_ratio", "four_samples_ratio")


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
    report_local_model(given.model or "smollm2", n_answers=9 if given.full else 4, n_drawings=5 if given.full else 1)


if __name__ == "__main__":
    main()
