from typing import Any

import pytest

from iad_envs.toolcalls.worlds import ACE_WORLD_NAMES, world
from tests.iad_envs.toolcalls.worlds.world_calls import Desk


@pytest.mark.parametrize("name", ACE_WORLD_NAMES)
def test_every_app_has_the_phone(name: str) -> None:
    desk = Desk(name, {"wifi": False, "logged_in": False, "pin": "4821"})
    assert desk.reads("check_phone") == {"wifi": False, "logged_in": False}
    assert desk.call("switch_wifi_on") == {"wifi": True}
    assert "wrong" in desk.refused("log_in_phone", pin="4822")
    assert desk.call("log_in_phone", pin="4821") == {"logged_in": True}
    public = desk.world.public(desk.state)
    assert (public["wifi"], public["logged_in"]) == (True, True)
    assert "4821" not in str(public)
    desk.call("switch_wifi_off")
    desk.call("log_out_phone")
    assert desk.reads("check_phone") == {"wifi": False, "logged_in": False}


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("Messages", {"wifi": True}, "not logged in"),
        ("Reminders", {"wifi": True}, "not logged in"),
        ("Takeaway", {"logged_in": True, "signed_in": "kai"}, "Wi-Fi is off"),
        ("Trips", {"logged_in": True, "signed_in": "kai"}, "Wi-Fi is off"),
    ],
)
def test_no_app_does_anything_before_it_has_what_it_needs(name: str, given: dict[str, Any], said: str) -> None:
    """Its functions come after those of the phone."""
    of_phone, some = world("Phone").documents, {"string": "a", "integer": 1, "float": 1.0}
    desk = Desk(name, given)
    assert desk.world.documents[: len(of_phone)] == of_phone
    for document in desk.world.documents[len(of_phone) :]:
        properties = document["parameters"]["properties"]
        arguments = {key: some[properties[key]["type"]] for key in document["parameters"]["required"]}
        assert said in desk.refused(document["name"], **arguments)
        if name in ("Takeaway", "Trips") and not document["name"].startswith(("sign_in", "find", "list_dishes")):
            signed_out = Desk(name, {"wifi": True})
            assert "Sign in first" in signed_out.refused(document["name"], **arguments)
