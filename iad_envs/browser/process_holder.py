"""Runs a driver and its browser in their own process group while its standard input is open.

`iad_envs.browser.selenium` starts this program with the profile's folder and the driver's command. When the process at
the other end of its input dies, for whatever reason, this program ends the group and removes the folder.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress


def main(profile: str, *command: str) -> None:
    """Run a command. Print its process group on standard output, and later that it ended by itself."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    print(f"group {child.pid}", flush=True)
    threading.Thread(target=lambda: print(f"ended with status {child.wait()}", flush=True), daemon=True).start()
    sys.stdin.buffer.read()
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    until = time.monotonic() + 5.0
    while os.path.exists(profile) and time.monotonic() < until:  # noqa: PTH110 (this program must start fast)
        shutil.rmtree(profile, ignore_errors=True)
        time.sleep(0.01)


if __name__ == "__main__":
    main(*sys.argv[1:])
