"""Logs of other frameworks, compared as our own runs are. To add a format: its file, and a line here.

A reader turns files into one record per sample (`samples.py`). Nothing after it knows where a record is from. No
framework has to be installed for its logs to be read.
"""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from iad_policy.errors import UnknownName
from iad_policy.registry import load_object
from iad_policy.report.samples import Samples


class LogFormat(NamedTuple):
    """A format of logs.

    Attributes:
        reader: Path "module:function" of the reader. It takes the paths, and `columns` if its records have no fixed
            names.
        paths: What the paths are, for the command line.
    """

    reader: str
    paths: str


OWN = "runs"
"""The format of our own run folders."""
FORMATS: Mapping[str, LogFormat] = {
    OWN: LogFormat("iad_policy.report.other_logs.run_folders:read", "run folders of iad"),
    "inspect": LogFormat("iad_policy.report.other_logs.inspect_logs:read", "logs of inspect_ai, or folders of them"),
    "verifiers": LogFormat(
        "iad_policy.report.other_logs.verifiers_runs:read", "run folders of verifiers, or folders of them"
    ),
    "atif": LogFormat("iad_policy.report.other_logs.atif:read", "trajectories in ATIF (Harbor), or folders of them"),
    "jsonl": LogFormat("iad_policy.report.other_logs.json_lines:read", "files with one JSON object per line"),
}
"""Name -> format."""


def read_logs(form: str, paths: Sequence[Path], *, columns: Mapping[str, str] | None = None) -> Samples:
    """Return the samples of logs. What can't be read is named in `problems`, and the rest is read.

    Args:
        form: A name in `FORMATS`.
        paths: Files and folders.
        columns: Name of a field of a record -> its name in the files, for formats without fixed names.

    Raises:
        UnknownName: No such format, or no such field.
        ValueError: `columns` for a format with fixed names, or there is no sample in any file.
        FileNotFoundError: There is no such file or folder.
        MissingExtra: A package that decompresses the logs is not installed.
    """
    if form not in FORMATS:
        raise UnknownName("format", form, FORMATS)
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"expected {FORMATS[form].paths}, got {path}, which does not exist")
    paths = list({path.resolve(): path for path in reversed(paths)}.values())[::-1]  # each once
    reader = load_object(FORMATS[form].reader)
    options = {}
    if columns:
        if "columns" not in inspect.signature(reader).parameters:
            raise ValueError(f"expected --columns for a format without fixed names, got it for {form}; leave it out")
        options["columns"] = columns
    found: Samples = reader(paths, **options)
    if not found.samples:
        reasons = "".join(f"; {problem}" for problem in found.problems[:3])
        raise ValueError(
            f"expected {FORMATS[form].paths} with at least one sample, got {', '.join(map(str, paths)) or 'no path'}"
            f"{reasons}; name others"
        )
    return found
