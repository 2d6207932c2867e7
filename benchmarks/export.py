"""Measures `iad export`: 10^5 decisions as Parquet, and fewer decisions in the other formats, which have no target.

Parquet is written with one process per core, like `iad export`, and with a single process. The run folder repeats the
episodes of a real run (the demo's comparison on 20 tasks) under new keys.
"""

import os
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from reference import Reference
from support.figures import figure

import iad_envs  # noqa: F401 (registers)
from iad_policy.evaluate import evaluate
from iad_policy.ledger.answer_log import ANSWERS, BLOBS
from iad_policy.ledger.episode_record import EPISODES
from iad_policy.ledger.run import Run
from iad_policy.report.exports import export_runs
from iad_policy.report.results import CONFIG
from iad_policy.types.hashing import digest

N_DECISIONS = 100_000
N_TASKS = 20
N_OTHERS = 5_000
OTHERS = ("jsonl", "sft", "preference", "kto")


def repeat(real: Path, folder: Path, times: int) -> None:
    """Write a run folder that repeats the episodes of another one several times."""
    folder.mkdir()
    (folder / CONFIG).write_bytes((real / CONFIG).read_bytes())
    shutil.copytree(real / BLOBS, folder / BLOBS)  # a run folder is refused if a part of it is a link
    for name, head in ((ANSWERS, b'{"episode":"'), (EPISODES, b'{"key":"')):
        lines = [line[len(head) :] for line in (real / name).read_bytes().splitlines(keepends=True)]
        parts = [(line[:32].decode(), line[32:]) for line in lines]
        with (folder / name).open("wb") as file:
            for place in range(times):
                keys = {key: digest(key, place).encode() for key, _ in parts}
                file.writelines(head + keys[key] + rest for key, rest in parts)


def measured(folder: Path, form: str, out: Path, *, workers: int = 1) -> tuple[float, float, int]:
    """Return the wall and CPU seconds of an export, from the folder to the file, and its number of rows."""
    start, cpu = perf_counter(), cpu_s()
    run = Run(folder)
    n_rows = export_runs([run], form, out, workers=workers)[out]
    return perf_counter() - start, cpu_s() - cpu, n_rows


def cpu_s() -> float:
    """Return the CPU seconds of this process and its finished child processes."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def main() -> None:
    """Print the figures. The argument is another number of decisions."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else N_DECISIONS
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        results = evaluate("IAD/WebShop-v0", tasks=N_TASKS, out=folder / "real")
        n_real = sum(record.n_steps for own in results.records.values() for record in own)
        repeat(folder / "real", folder / "few", -(-N_OTHERS // n_real))
        repeat(folder / "real", folder / "many", -(-n // n_real))
        measured(folder / "real", "parquet", folder / "warm.parquet")  # imports pyarrow
        reference = Reference()
        reference.sample()
        alone_s, alone_cpu_s, n_rows = measured(folder / "many", "parquet", folder / "data.parquet")
        workers = os.cpu_count() or 1
        reference.sample()
        wall_s, used_s, n_rows = measured(folder / "many", "parquet", folder / "data.parquet", workers=workers)
        per = N_DECISIONS / n_rows
        reference.sample()
        reference.figure("export_parquet_1e5_s", wall_s * per, "s", target=10.0, n=n_rows)
        reference.report()
        figure("export_parquet_1e5_gain", alone_s / wall_s, "x", better="higher", n=n_rows, baseline=1.0)
        figure("export_parquet_1e5_cpu_s", used_s * per, "s", n=n_rows, baseline=alone_cpu_s * per)
        for form in OTHERS:
            wall_s, _, n_rows = measured(folder / "few", form, folder / f"{form}.jsonl")
            figure(f"export_{form}_rows_per_s", n_rows / wall_s, "rows/s", better="higher", n=n_rows)


if __name__ == "__main__":
    if find_spec("pyarrow") is None:
        print("Skipped: pip install -e '.[export]'", file=sys.stderr)
    else:
        main()
