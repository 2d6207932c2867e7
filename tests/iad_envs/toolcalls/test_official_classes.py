"""Loading of a user's copy of the official classes, here a small folder of the same layout."""

import sys
from decimal import getcontext
from pathlib import Path

import pytest

from iad_envs.errors import DataNotFound, Unavailable, UnknownTask
from iad_envs.toolcalls.bfcl.classes import OfficialClasses
from iad_envs.toolcalls.bfcl.precautions import OFFICIAL
from iad_envs.toolcalls.calls import read_calls
from iad_envs.toolcalls.executor import Toolbox

FOLDER = "eval_checker/multi_turn_eval/func_source_code"
TABLES = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code.long_context"
DESK = f"""
from copy import deepcopy
from {TABLES} import TABLE

class TicketAPI:
    def __init__(self):
        self.tickets: dict

    def _load_scenario(self, scenario, long_context=False):
        self.tickets = scenario.get("tickets", TABLE)

    def close_ticket(self, ticket):
        self.tickets[ticket] = "closed"
        return {{"closed": ticket}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "bfcl_eval"
    source = package / FOLDER
    source.mkdir(parents=True)
    (source / "long_context.py").write_text("TABLE = {1: 'open'}\n")
    (source / "ticket_api.py").write_text(DESK)
    (source / "math_api.py").write_text("import no_such_package_at_all\nclass MathAPI: pass\n")
    (source / "posting_api.py").write_text("1 / 0\n")
    return package


def test_a_class_is_loaded_with_what_it_imports_and_nothing_else_of_the_package(folder: Path) -> None:
    classes = OfficialClasses(folder)
    assert classes["TicketAPI"] is OfficialClasses(folder)["TicketAPI"], "once"
    assert classes["TicketAPI"].__name__ == "TicketAPI"
    assert not [name for name in sys.modules if name.startswith("bfcl_eval")]
    assert not list(folder.rglob("__pycache__")), "the folder is the user's"


def test_a_table_that_classes_share_is_not_shared_by_states(folder: Path) -> None:
    box = OfficialClasses(folder).toolbox(["TicketAPI"])
    start = box.start({})
    closed = box.run(start, read_calls("close_ticket(ticket=1)")).state
    assert closed.instances["TicketAPI"].tickets == {1: "closed"}
    assert start.instances["TicketAPI"].tickets == box.start({}).instances["TicketAPI"].tickets == {1: "open"}


def test_what_is_missing_is_named_with_the_command_that_brings_it(folder: Path, tmp_path: Path) -> None:
    loaded = set(sys.modules)
    with pytest.raises(Unavailable, match=r"no_such_package_at_all.*iad\[bfcl\].*--no-deps bfcl-eval==2026\.3\.23"):
        OfficialClasses(folder)["MathAPI"]
    with pytest.raises(DataNotFound, match=r"--no-deps bfcl-eval==2026\.3\.23"):
        OfficialClasses(tmp_path / "elsewhere")
    with pytest.raises(DataNotFound, match=r"travel_booking\.py"):
        OfficialClasses(folder)["TravelAPI"]
    with pytest.raises(UnknownTask, match="known simulated class"):
        OfficialClasses(folder)["TicketApi"]
    with pytest.raises(ZeroDivisionError):
        OfficialClasses(folder)["TwitterAPI"]
    assert set(sys.modules) == loaded, "nothing that is half loaded stays"


class ArithmeticDesk:
    """Has functions with the names and parameters of the official ones."""

    def power(self, base: float, exponent: float) -> dict[str, float]:
        return {"result": base**exponent}

    def square_root(self, number: float, precision: int) -> dict[str, float]:
        getcontext().prec = precision
        return {"result": number**0.5}

    def round_number(self, number: float, decimal_places: int = 0) -> dict[str, float]:
        return {"result": round(number, decimal_places)}

    def book_flight(self, travel_class: str) -> dict[str, object]:
        return {"booking_status": False, "error": f"Must be one of { {'first', 'economy', 'business'} }"}


@pytest.mark.timeout(10)
def test_heavy_arithmetic_is_refused_or_avoided() -> None:
    box = Toolbox({"ArithmeticDesk": ArithmeticDesk}, precautions=OFFICIAL)
    before = getcontext().prec
    ran = box.run(
        box.start({}),
        read_calls(
            "power(base=2, exponent=10), power(base=10, exponent=999999999), power(base=10, exponent=4300),"
            " power(base=2, exponent=-3), power(base=-1, exponent=999999999), power(base=0, exponent=5),"
            " square_root(number=4, precision=1000000), square_root(number=4, precision='1000000'),"
            " square_root(number=4, precision=7), square_root(number=4, precision=0),"
            " round_number(number=7, decimal_places=-999999999), round_number(number=1234, decimal_places=-2),"
            " book_flight(travel_class='x')"
        ),
    )
    too_long = "Error during execution: Exceeds the limit (4300 digits) for integer string conversion"
    assert ran.results[0] == '{"result": 1024}'
    assert all(result.startswith(too_long) for result in ran.results[1:3])
    assert ran.results[3:6] == ('{"result": 0.125}', '{"result": -1}', '{"result": 0}')
    assert all("precision must be at most 1000" in result for result in ran.results[6:8])
    assert ran.results[8] == '{"result": 2.0}'
    assert "valid range for prec" in ran.results[9]
    assert ran.results[10:12] == ('{"result": 0}', '{"result": 1200}')
    assert "{'first', 'economy', 'business'}" in ran.results[12]
    assert getcontext().prec == before
