"""Creates start states from shell scripts, or from a tar file or a folder to unpack at `/`."""

import bz2
import gzip
import io
import lzma
import tarfile
from hashlib import blake2b
from pathlib import Path

from iad_envs.bash.sandbox import Sandbox, SandboxError, Setup

TIME_S = 60.0


def digest(setup: Setup) -> str:
    """Return a hash of a setup. Setups that create the same state have the same hash."""
    what = blake2b(digest_size=16)
    if isinstance(setup, Path):
        what.update(b"tar\0" + archive(setup))
    else:
        for script in setup:
            what.update(script.encode() + b"\0")
    return what.hexdigest()


def archive(path: Path) -> bytes:
    """Return an uncompressed tar of a tar file or a folder.

    Raises:
        FileNotFoundError: There is neither a file nor a folder.
    """
    if path.is_dir():
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for entry in sorted(path.iterdir()):
                tar.add(entry, arcname=entry.name)
        return buffer.getvalue()
    if not path.is_file():
        raise FileNotFoundError(f"expected a tar file or a folder to set up a sandbox from, got {str(path)!r}")
    content = path.read_bytes()
    for magic, module in ((b"\x1f\x8b", gzip), (b"BZh", bz2), (b"\xfd7zXZ", lzma)):
        if content.startswith(magic):
            content = module.decompress(content)
            break
    return content


def unpack(sandbox: Sandbox, setup: Setup) -> None:
    """Create a start state in a new sandbox. Exit codes of scripts are ignored, because some commands may fail.

    Raises:
        SandboxError: A script exceeded a limit, or an archive could not be unpacked completely.
    """
    if isinstance(setup, Path):
        command = ["tar", "--extract", "--preserve-permissions", "--no-same-owner", "--directory=/", "--file=-"]
        result = sandbox.run(command, stdin=archive(setup), timeout_s=TIME_S)
        if result.exit_code:
            raise SandboxError(f"expected {str(setup)!r} to unpack at '/', got: {result.output.strip()[-500:]}")
        return
    for script in setup:
        result = sandbox.run(script, timeout_s=TIME_S)
        if result.killed_by:
            raise SandboxError(
                f"expected a set-up script to end within its limits, but it was ended ({result.killed_by}): "
                f"{result.output.strip()[-500:]}"
            )
