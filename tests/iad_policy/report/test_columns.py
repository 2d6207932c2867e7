"""Tables in a terminal: names of any length leave room for the figures beside them."""

from collections.abc import Mapping
from io import StringIO

import pytest
from rich.cells import cell_len
from rich.console import Console

from iad_policy.report.columns import Columns, fitting, folded

LONG = "mine:best_of_{}_with_a_name_that_describes_all_of_its_settings_ok mine:AVerifierThatSaysAllThatItReads n=1"
WIDE = "審査員の名前はとても長いので一行に収まりません" * 3


def printed(rows: Mapping[str, float], width: int) -> list[str]:
    columns: Columns[float] = [(name, lambda one: f"{one:.3f} [.00,.56]") for name in ("success", "reward", "steps")]
    console = Console(file=StringIO(), width=width, legacy_windows=False, record=True)
    for table in fitting("Scores", columns, rows, width=width, console=console):
        console.print(table)
    return console.export_text().splitlines()


@pytest.mark.parametrize("name", [LONG, f"{WIDE}{{}}", "a" * 300 + "{}"], ids=["words", "wide characters", "one word"])
def test_long_names_leave_the_figures_of_a_row_beside_each_other(name: str) -> None:
    rows = {name.format("a"): 0.25, name.format("b"): 0.75}
    lines = printed(rows, 80)
    assert max(map(cell_len, lines)) <= 80
    assert next(line.split()[-6:] for line in lines if "[" in line) == ["0.250", "[.00,.56]"] * 3
    for row in rows:
        first, *rest = folded(row, 26).split("\n")
        assert max(map(cell_len, (first, *rest))) <= 26
        assert [line[:1] == " " for line in (first, *rest)] == [False, *[True] * len(rest)]
        assert "".join((first, *rest)).replace(" ", "") == row.replace(" ", "")
        assert any(line.startswith(first) for line in lines)


def test_names_stay_whole_where_there_is_room_or_they_are_short() -> None:
    assert any(line.startswith(LONG.format("a")) for line in printed({LONG.format("a"): 0.25}, 200))
    assert folded("iad n=4", 26) == "iad n=4"
    assert sum(line.startswith("bon-sc n=16") for line in printed({"iad": 0.5, "bon-sc n=16": 0.5}, 40)) == 3
