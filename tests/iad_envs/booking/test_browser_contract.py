"""Holds `IAD/BookingBrowser-v0` to contract 1."""

from typing import Any

import pytest

from tests.browser import missing
from tests.contract.environments import EnvironmentContract, Subject


def look_around(info: dict[str, Any]) -> str:
    return ["CLICK [go]", "SCROLL [DOWN]", "GOTO [home]", "CLICK [mine]"][info["step"] % 4]


SUBJECT = Subject(
    "IAD/BookingBrowser-v0",
    look_around,
    lasting="CLICK [slot-1900]",
    approach=["GOTO [/r/bistro-almond-tree-port-alder?date=2026-06-17&time=19:00&party=2]"],
    asking="ASK USER HELP [Where would you like to sit?]",
    answer="The user answered: ",
)
needs_a_browser = pytest.mark.skipif(bool(missing()), reason=missing() or "everything is there")


@needs_a_browser
@pytest.mark.slow
@pytest.mark.timeout(300)
class TestBookingBrowser(EnvironmentContract):
    @pytest.fixture
    def subject(self) -> Subject:
        return SUBJECT
