"""The tutorial as a notebook (`make notebook`)."""

import re
from pathlib import Path

import pytest

for package in ("jupytext", "nbclient", "ipykernel"):
    pytest.importorskip(package, reason=f"{package} is not installed: pip install -e '.[notebook]'")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore:.*encryption")  # theirs
def test_the_tutorial_runs_as_a_notebook_and_answers_whether_it_is_better(tmp_path: Path) -> None:
    from docs.learning.notebook import executed

    cells = executed(tmp_path).cells
    (place,) = [i for i, cell in enumerate(cells) if cell.cell_type == "code" and "q-guided" in cell.source]
    printed = "".join(output.text for output in cells[place].outputs)
    said = cells[place + 1].source.splitlines()
    assert said[0].startswith("Not shown:")
    shares = {f"0.{share}0" for share in re.findall(r"(\d\d) %", " ".join(said))}
    assert len(shares) == 3
    assert shares <= set(printed.split())
    assert "\x1b" not in printed  # a bar, as on a terminal
