"""A run on Ray as a process of its own, to be interrupted."""

import sys
from pathlib import Path

from rich.console import Console

from iad_policy.commands.terminal_run import run_session
from iad_policy.run.runner import Runner
from tests.full.ray_components import Dials
from tests.iad_policy.evaluation_toy import DialsEnv, Liker, cast, config

if __name__ == "__main__":
    here = cast(Dials(Path(sys.argv[2]), 0.3), Liker())
    runner = Runner(config(engine="ray", workers=4, tasks=6), DialsEnv, lambda *_: here)
    sys.exit(run_session(runner, Path(sys.argv[1]), Console()))
