"""Several layers as one, whiteouts and opaque folders included."""

import os
import stat

OPAQUE = "user.overlay.opaque"


def is_whiteout(found: os.stat_result) -> bool:
    """Whether an entry of a layer says that the path is gone: a character device numbered 0:0."""
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == 0


def is_opaque(folder: str) -> bool:
    """Whether a folder of a layer hides what lower layers have under it."""
    try:
        return os.getxattr(folder, OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


def flatten(layers: list[str], target: str) -> None:
    """Copy layers, lowest first, into an empty folder as one layer that means the same."""
    for layer in layers:
        _merge(layer, target, {})


def _merge(source: str, target: str, links: dict[int, str]) -> None:
    """Put one folder of a layer over another; `links` knows where each inode of the layer has gone."""
    for name in os.listdir(source):
        upper, lower = f"{source}/{name}", f"{target}/{name}"
        found = os.lstat(upper)
        if not stat.S_ISDIR(found.st_mode):
            _remove(lower)
            _copy(upper, found, lower, links)
            continue
        hides = is_opaque(upper) or not _is_folder(lower)
        was_there = os.path.lexists(lower)
        if hides:
            _remove(lower)
            os.mkdir(lower)
        _merge(upper, lower, links)
        if hides and (was_there or is_opaque(upper)):
            os.setxattr(lower, OPAQUE, b"y")
        _look_like(found, upper, lower)
    _look_like(os.lstat(source), source, target)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _remove(path: str) -> None:
    if _is_folder(path):
        for name in os.listdir(path):
            _remove(f"{path}/{name}")
        os.rmdir(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _copy(source: str, found: os.stat_result, target: str, links: dict[int, str]) -> None:
    if found.st_nlink > 1 and found.st_ino in links:
        os.link(links[found.st_ino], target, follow_symlinks=False)
        return
    links[found.st_ino] = target
    if stat.S_ISLNK(found.st_mode):
        os.symlink(os.readlink(source), target)
    elif stat.S_ISREG(found.st_mode):
        with open(source, "rb") as old, open(target, "wb") as new:
            while block := old.read(1 << 20):
                new.write(block)
    else:  # a whiteout, a named pipe or a socket
        os.mknod(target, found.st_mode, found.st_rdev)
    _look_like(found, source, target)


def _look_like(found: os.stat_result, source: str, target: str) -> None:
    """Give a copy the owner, attributes, mode and times of what it is a copy of."""
    if is_whiteout(found):
        return
    os.chown(target, found.st_uid, found.st_gid, follow_symlinks=False)
    if not stat.S_ISLNK(found.st_mode):
        for name in os.listxattr(source):
            if name != OPAQUE:
                os.setxattr(target, name, os.getxattr(source, name))
        os.chmod(target, found.st_mode & 0o7777)
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns), follow_symlinks=False)
