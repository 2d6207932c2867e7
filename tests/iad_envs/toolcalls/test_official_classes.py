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


def test_a_class_is_loaded_with_what_it_imports_and_a_shared_table_is_not_shared_by_states(folder: Path) -> None:
    classes = OfficialClasses(folder)
    assert classes["TicketAPI"] is OfficialClasses(folder)["TicketAPI"], "once"
    assert classes["TicketAPI"].__name__ == "TicketAPI"
    assert not [name for name in sys.modules if name.startswith("bfcl_eval")]
    assert not list(folder.rglob("__pycache__")), "the folder is the user's"
    box = OfficialClasses(folder).toolbox(["TicketAPI"])
    start = box.start({})
    closed = box.run(start, read_calls("close_ticket(ticket=1)")).state
    assert closed.instances["TicketAPI"].tickets == {1: "closed"}
    assert start.instances["TicketAPI"].tickets == box.start({}).instances["TicketAPI"].tickets == {1: "open"}


def test_what_is_missing_is_named_with_the_command_that_brings_it(folder: Path, tmp_path: Path) -> None:
    loaded, classes = set(sys.modules), OfficialClasses(folder)
    command = r"--no-deps bfcl-eval==2026\.3\.23"
    for call, error, said in (
        (lambda: classes["MathAPI"], Unavailable, rf"no_such_package_at_all.*iad\[bfcl\].*{command}"),
        (lambda: OfficialClasses(tmp_path / "elsewhere"), DataNotFound, command),
        (lambda: classes["TravelAPI"], DataNotFound, r"travel_booking\.py"),
        (lambda: classes["TicketApi"], UnknownTask, "known simulated class"),
        (lambda: classes["TwitterAPI"], ZeroDivisionError, "zero"),
    ):
        with pytest.raises(error, match=said):
            call()
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


TOO_LONG = "Error during execution: Exceeds the limit (4300 digits) for integer string conversion"
PRECISION = "precision must be at most 1000"
ARITHMETIC = {
    "power(base=2, exponent=10)": '{"result": 1024}', "power(base=10, exponent=999999999)": TOO_LONG,
    "power(base=10, exponent=4300)": TOO_LONG, "power(base=2, exponent=-3)": '{"result": 0.125}',
    "power(base=-1, exponent=999999999)": '{"result": -1}', "power(base=0, exponent=5)": '{"result": 0}',
    "square_root(number=4, precision=1000000)": PRECISION, "square_root(number=4, precision='1000000')": PRECISION,
    "square_root(number=4, precision=7)": '{"result": 2.0}', "square_root(number=4, precision=0)": "valid range",
    "round_number(number=7, decimal_places=-999999999)": '{"result": 0}',
    "round_number(number=1234, decimal_places=-2)": '{"result": 1200}',
    "book_flight(travel_class='x')": "{'first', 'economy', 'business'}",
}  # fmt: skip


@pytest.mark.timeout(10)
def test_heavy_arithmetic_is_refused_or_avoided() -> None:
    box = Toolbox({"ArithmeticDesk": ArithmeticDesk}, precautions=OFFICIAL)
    before = getcontext().prec
    ran = box.run(box.start({}), read_calls(", ".join(ARITHMETIC)))
    for call, result in zip(ARITHMETIC, ran.results, strict=True):
        assert ARITHMETIC[call] in result, call
    assert getcontext().prec == before
