"""Measures what a language model meets: reading of answers, verifiers, and a model on this machine.

The local model is the GGUF file that `--model` or `$IAD_LOCAL_MODEL` names, else SmolLM2-135M if it was fetched. The
targets were set for Qwen2.5-Coder-0.5B-Instruct, Q4_K_M. `--full` adds the proxy verifiers' AUC on candidates that they
were not fitted to. `--runs` reads run folders of a language model: shares of proposals that were asked again, of prompt
tokens from the server's cache, and of refinements that repeat an earlier attempt.
"""

import argparse
import os
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.bash_verifier import bash_evidence
from support.bird_verifier import bird_evidence, has_systems
from support.figures import figure, nothing
from support.local_model import report_local_model
from support.measured_models import MeasuredRun
from support.webshop_verifier import webshop_evidence

from iad_policy.models.local import PACKAGE
from iad_policy.models.local.files import models_folder
from iad_policy.report.verifier_evidence import VerifierEvidence
from tests.iad_policy.models.answer_table import TABLES, rows


def of_verifier(name: str, found: VerifierEvidence | None, *, target: float) -> None:
    """Print a verifier's AUC, or that it can't be told from so few candidates or none, and its calibration error."""
    if found is None:
        nothing(f"{name}_auc", "IAD_REAL_DATA or IAD_VECTORS is not set, which hold the candidates of models")
        return
    n = found.n_pos + found.n_neg
    if found.auc is None:
        nothing(f"{name}_auc", f"cannot be told: {found.n_pos} right, {found.n_neg} wrong")
    else:
        figure(f"{name}_auc", found.auc, "AUC", target=target, better="higher", n=n)
    if found.ece is not None:
        figure(f"{name}_ece", found.ece, "probability", n=n)


def recorded(folder: Path) -> None:
    """Print the figures of a run folder of a language model."""
    run = MeasuredRun(folder)
    steps = (step for key in run.traces.records for step in run.traces.episode(key).steps)
    asked = [one.exchanges for step in steps for one in step.decision.candidates if one.exchanges]
    # A prompt that begins with the whole one before it asks again.
    again = [any(later.prompt[: len(one.prompt)] == one.prompt for one, later in pairwise(some)) for some in asked]
    figure(f"reask_share_{folder.name}", sum(again) / max(1, len(again)), "share", n=len(again))
    figure(f"cached_share_{folder.name}", run.cached_share(), "share", better="higher")
    for arm in (arm for arm in run.arms if arm.startswith("iad ") and not arm.endswith(" 1")):
        told = run.uptake(arm)
        figure(f"repeats_{folder.name}_{arm.replace(' ', '')}", told.n_repeats / max(1, told.n), "share", n=told.n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="more runs of each measurement")
    parser.add_argument("--model", default=os.environ.get("IAD_LOCAL_MODEL"), help="a GGUF file")
    parser.add_argument("--runs", nargs="*", type=Path, default=(), help="run folders of a language model")
    given = parser.parse_args()
    for table in TABLES:
        shapes = list(rows(table))
        read = sum(row.is_read_right() for row in shapes) / len(shapes)
        figure(f"answer_round_trip_{table}", read, "share", target=1.0, better="higher", n=len(shapes))
        figure(f"answer_reask_share_{table}", sum(row.reask for row in shapes) / len(shapes), "share", n=len(shapes))
    if given.full:
        of_verifier("webshop_buy", webshop_evidence(), target=0.75)
        of_verifier("bash_submit", bash_evidence(), target=0.75)
        of_verifier("bird_systems", bird_evidence() if has_systems() else None, target=0.7)
    for run_folder in given.runs:
        recorded(run_folder)
    if find_spec(PACKAGE) is None or (given.model is None and not (models_folder() / "smollm2.gguf").is_file()):
        for one in ("local_overhead_ratio", "four_samples_ratio"):
            nothing(
                one,
                f"no model: pip install -e '.[local]' for {PACKAGE}, and name one or fetch SmolLM2 (make test-model)",
            )
    else:
        report_local_model(
            given.model or "smollm2", n_answers=9 if given.full else 4, n_drawings=5 if given.full else 1
        )


if __name__ == "__main__":
    main()
