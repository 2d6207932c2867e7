"""The attacks of `attacks.toml`, by environment and kind."""

import re
import tomllib
from pathlib import Path
from typing import Any

ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _whole(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_whole(part) for part in value]
    if not isinstance(value, str):
        return value
    text = value.replace("{endless}", ENDLESS)
    return re.sub("⟦(.*?)×([0-9]+)⟧", lambda found: found[1] * int(found[2]), text, flags=re.DOTALL)


ATTACKS: dict[str, Any] = _whole(tomllib.loads(Path(__file__).with_name("attacks.toml").read_text(encoding="utf-8")))
SHELL, SQL, PAGES = ATTACKS["shell"], ATTACKS["sql"], ATTACKS["pages"]
