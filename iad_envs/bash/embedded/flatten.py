"""Merges several layers into one, including whiteouts and opaque folders."""

import os
import shutil
import stat
import time

OPAQUE = "user.overlay.opaque"


def is_whiteout(found: os.stat_result) -> bool:
    """Whether an entry of a layer marks the path as deleted: a character device numbered 0:0."""
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == 0


def is_opaque(folder: str) -> bool:
    """Whether a folder of a layer hides the content of lower layers."""
    try:
        return os.getxattr(folder, OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


def flatten(layers: list[str], target: str, limit_s: float) -> None:
    """Copy layers, lowest first, into an empty folder as one equivalent layer.

    Raises:
        TimeoutError: It takes longer than `limit_s` seconds.
    """
    until = time.monotonic() + limit_s
    for layer in layers:
        _merge(layer, target, {}, until)


def _merge(source: str, target: str, links: dict[int, str], until: float) -> None:
    """Merge a folder of a layer into a target folder. `links` maps each inode of the layer to its copy."""
    for name in os.listdir(source):
        if time.monotonic() > until:
            raise TimeoutError("there is too much to merge")
        upper, lower = f"{source}/{name}", f"{target}/{name}"
        found = os.lstat(upper)
        if not stat.S_ISDIR(found.st_mode):
            _remove(lower)
            if found.st_nlink > 1 and found.st_ino in links:
                os.link(links[found.st_ino], lower, follow_symlinks=False)
                continue
            links[found.st_ino] = lower
            if stat.S_ISLNK(found.st_mode):
                os.symlink(os.readlink(upper), lower)
            elif stat.S_ISREG(found.st_mode):
                shutil.copyfile(upper, lower)
            else:  # a whiteout, a named pipe or a socket
                os.mknod(lower, found.st_mode, found.st_rdev)
            _copy_metadata(found, upper, lower)
            continue
        hides = is_opaque(upper) or not _is_folder(lower)
        was_there = os.path.lexists(lower)
        if hides:
            _remove(lower)
            os.mkdir(lower)
        _merge(upper, lower, links, until)
        if hides and (was_there or is_opaque(upper)):
            os.setxattr(lower, OPAQUE, b"y")
        _copy_metadata(found, upper, lower)
    _copy_metadata(os.lstat(source), source, target)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _remove(path: str) -> None:
    if _is_folder(path):
        for name in os.listdir(path):
            _remove(f"{path}/{name}")
        os.rmdir(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _copy_metadata(found: os.stat_result, source: str, target: str) -> None:
    """Copy owner, attributes, mode and times of the source to the target."""
    if is_whiteout(found):
        return
    os.chown(target, found.st_uid, found.st_gid, follow_symlinks=False)
    if not stat.S_ISLNK(found.st_mode):
        for name in os.listxattr(source):
            if name != OPAQUE:
                os.setxattr(target, name, os.getxattr(source, name))
        os.chmod(target, found.st_mode & 0o7777)
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns), follow_symlinks=False)
