"""Builds the file tree under every sandbox: the host's programs, read-only, in a small generated system.

The tree is built once per Python process, in a separate mount namespace that contains no other host folder:

- `/base`   the lowest layer: etc, root, tmp, home and empty mount points
- `/host`   the host's /usr (and /bin, /lib ... unless they are links into it), read-only, with answers masked
- `/dev`    six devices and the usual links
- `/layers` start states, each in a separate tmpfs
- `/own`    mount point for the private tmpfs of each supervisor
"""

import contextlib
import os
import stat

from iad_envs.bash.embedded import syscalls
from iad_envs.bash.embedded.syscalls import Mount

STAGE = "/tmp"  # any folder will do: it is covered in a private mount namespace only

WRITTEN = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
    "bin:x:2:2:bin:/bin:/usr/sbin/nologin\nsys:x:3:3:sys:/dev:/usr/sbin/nologin\n"
    "man:x:6:12:man:/var/cache/man:/usr/sbin/nologin\nmail:x:8:8:mail:/var/mail:/usr/sbin/nologin\n"
    "www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\ndaemon:x:1:\nbin:x:2:\nsys:x:3:\nadm:x:4:\ntty:x:5:\ndisk:x:6:\nman:x:12:\nmail:x:8:\n"
    "sudo:x:27:\nshadow:x:42:\nwww-data:x:33:\nstaff:x:50:\nusers:x:100:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1\tlocalhost\n::1\tlocalhost\n127.0.1.1\tsandbox\n",
    "hostname": "sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\nprotocols: files\n",
    "host.conf": "multi on\n",
    "resolv.conf": "",
    "shells": "/bin/sh\n/bin/bash\n",
    "fstab": "",
    "profile": "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n",
}


def build_tree(masked: tuple[str, ...], *, maps_zero: bool) -> None:
    """Build the tree above as this process's root, and detach the host's root.

    Args:
        masked: Absolute host paths that must appear empty, in addition to the default ones.
        maps_zero: Whether /dev/zero can be mapped into memory. Processes can share such memory, and only a control
            group can count it.
    """
    syscalls.mount("", "/", flags=Mount.REC | Mount.PRIVATE)
    syscalls.mount("stage", STAGE, fstype="tmpfs", flags=Mount.NOSUID, options="mode=755,size=64m")
    for folder in ("base", "host", "dev", "layers", "own", "proc", "host-proc", "old"):
        os.mkdir(f"{STAGE}/{folder}")
    mounts = []
    for name in ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        base = f"{STAGE}/base/{name}"
        if os.path.islink(f"/{name}"):  # into another one
            os.symlink(os.readlink(f"/{name}"), base)
        elif os.path.isdir(f"/{name}"):
            os.mkdir(base)
            os.mkdir(f"{STAGE}/host/{name}")
            syscalls.bind(f"/{name}", f"{STAGE}/host/{name}", read_only=True)
            mounts.append(name)
    # Cover what may contain answers: installed tasks, packages, sources.
    for path in ("/usr/local", "/usr/src", "/usr/lib/python3/dist-packages", *masked):
        target = f"{STAGE}/host{os.path.realpath(path)}"
        if os.path.isdir(target):
            flags = Mount.NOSUID | Mount.NODEV | Mount.RDONLY
            syscalls.mount("masked", target, fstype="tmpfs", flags=flags, options="size=4k,nr_inodes=2,mode=755")
        elif os.path.isfile(target):
            syscalls.mount("/dev/null", target, flags=Mount.BIND)
    _devices(f"{STAGE}/dev", maps_zero=maps_zero)
    _base(f"{STAGE}/base")
    # A new proc can be mounted only while another is visible. Each supervisor unmounts this one after its own.
    syscalls.mount("/proc", f"{STAGE}/host-proc", flags=Mount.BIND | Mount.REC)
    syscalls.pivot_root(STAGE, f"{STAGE}/old")
    os.chdir("/")
    syscalls.unmount("/old")
    os.rmdir("/old")
    assert sorted(os.listdir("/host")) == sorted(mounts)


def furnish(root: str, proc: str) -> None:
    """Mount programs, devices and proc into a sandbox's root. They can't be moved or removed from inside."""
    for name in os.listdir("/host"):
        syscalls.mount(f"/host/{name}", f"{root}/{name}", flags=Mount.BIND | Mount.REC)
    syscalls.mount("/dev", f"{root}/dev", flags=Mount.BIND | Mount.REC)
    syscalls.mount(proc, f"{root}/proc", flags=Mount.BIND | Mount.REC)


def mount_points() -> tuple[str, ...]:
    """Return the names in a sandbox's root folder that are mount points and thus not part of its state."""
    return ("dev", "proc", *os.listdir("/host"))


def _devices(folder: str, *, maps_zero: bool) -> None:
    syscalls.mount("dev", folder, fstype="tmpfs", flags=Mount.NOSUID, options="mode=755,size=64k")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        with open(f"{folder}/{name}", "wb"):
            pass
        # Reading gives zeros from both devices, and the one that is always full can't be mapped.
        source = "full" if name == "zero" and not maps_zero else name
        syscalls.mount(f"/dev/{source}", f"{folder}/{name}", flags=Mount.BIND)
    links = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
             "stderr": "/proc/self/fd/2", "shm": "/tmp", "ptmx": "/dev/null"}  # fmt: skip
    for name, target in links.items():
        os.symlink(target, f"{folder}/{name}")
    # Only the folder becomes read-only: the devices in it are separate mounts.
    syscalls.mount("", folder, flags=Mount.REMOUNT | Mount.BIND | Mount.RDONLY | Mount.NOSUID)


def _base(folder: str) -> None:
    for name in ("dev", "proc", "home", "media", "mnt", "opt", "run", "srv", "var/cache", "var/lib", "var/log",
                 "var/spool", "var/lib/dpkg"):  # fmt: skip
        os.makedirs(f"{folder}/{name}", exist_ok=True)
    for name, mode in (("root", 0o700), ("tmp", 0o1777), ("var/tmp", 0o1777)):
        os.mkdir(f"{folder}/{name}")
        os.chmod(f"{folder}/{name}", mode)
    os.symlink("/run", f"{folder}/var/run")
    os.makedirs(f"{folder}/etc/alternatives")
    for name, text in WRITTEN.items():
        _write(f"{folder}/etc/{name}", text.encode())
    os.symlink("../usr/lib/os-release", f"{folder}/etc/os-release")
    os.symlink("/proc/self/mounts", f"{folder}/etc/mtab")
    needed = ["ld.so.cache", "ld.so.conf", "services", "protocols", "mime.types", "debian_version", "magic", "inputrc",
              "bash.bashrc", "ImageMagick-6/policy.xml", "ImageMagick-7/policy.xml"]  # fmt: skip
    if os.path.isdir("/etc/ld.so.conf.d"):
        needed += [f"ld.so.conf.d/{name}" for name in os.listdir("/etc/ld.so.conf.d")]
    for name in needed:
        with contextlib.suppress(OSError):
            found = os.stat(f"/etc/{name}")
            # Files that not every user may read are skipped.
            if stat.S_ISREG(found.st_mode) and found.st_mode & 0o004 and found.st_size <= 4 << 20:
                with open(f"/etc/{name}", "rb") as file:
                    content = file.read()
                os.makedirs(os.path.dirname(f"{folder}/etc/{name}"), exist_ok=True)
                _write(f"{folder}/etc/{name}", content)
    if os.path.isdir("/etc/alternatives"):  # awk, pager, editor ... are links through this folder
        for name in os.listdir("/etc/alternatives"):
            if os.path.islink(f"/etc/alternatives/{name}"):
                os.symlink(os.readlink(f"/etc/alternatives/{name}"), f"{folder}/etc/alternatives/{name}")


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, 0o644)
