"""A few shell tasks on a small desk."""

import json
from pathlib import Path

TASKS = [
    {"query": "Say hello", "gold": "echo hello there"},
    {"query": "Draw a number", "gold": "echo number$RANDOM$RANDOM$RANDOM"},
    {"query": "Draw a tree", "gold": "no-such-tool /desk | sort"},
    {"query": "Change one", "gold": "echo new words > /desk/one.txt"},
    {"query": "Two at once", "gold": ["mkdir /desk/made", "echo text > /desk/made/a.txt"]},
]


def make_tasks(folder: Path) -> Path:
    (folder / "tasks_fs_1.json").write_text(json.dumps(TASKS))
    (folder / "setup_nl2b_fs_1.sh").write_text(
        "mkdir -p /desk/sub /desk/hollow\necho first > /desk/one.txt\n"
        "echo two > /desk/sub/two.txt\nln -s sub /desk/link\n"
    )
    return folder
