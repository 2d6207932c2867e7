"""`report.html` of a model folder or of a folder of model folders: its trainings as one page by itself."""

from pathlib import Path

from iad_policy.ledger.run_folder import REPORT
from iad_policy.report.viewer.report import packed, page, write_report
from iad_policy.report.viewer.trainings import Trainings, opened
from iad_policy.types.atomic import write_atomically


def write_any_report(folder: Path | str) -> Path:
    """Write the `report.html` of a run folder, a model folder or a folder of model folders, and return its path.

    Raises:
        RunFolderError: It is none of them.
        ModelFolderError: A file of a model folder can't be read.
        StorageError: The page can't be written.
    """
    runs, trainings = opened([folder])
    return write_report(*runs) if runs else write_training_report(*trainings)


def write_training_report(trainings: Trainings) -> Path:
    """Write the page of trainings into their folder, and return its path.

    Raises:
        ModelFolderError: A file can't be read.
        StorageError: The page can't be written.
    """
    html = page("report", {"trainings": packed([trainings.as_json()])})
    path = trainings.folder / REPORT
    with write_atomically(path) as part:
        part.write_text(html, encoding="utf-8")
    return path
