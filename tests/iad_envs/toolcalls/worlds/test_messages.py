from tests.iad_envs.toolcalls.worlds.world_calls import Desk

WORLD = "Messages"
CONFIG = {
    "wifi": True,
    "logged_in": True,
    "today": "2026-03-02",
    "next_number": 70,
    "max_messages": 3,
    "people": [{"name": "Kai Lund", "number": "555-0101"}, {"name": "Eva Dahl", "number": "555-0102"}],
    "messages": [
        {
            "message_id": "MG-1",
            "box": "received",
            "number": "555-0101",
            "words": "The Kiln is hot.",
            "day": "2026-03-01",
            "is_unread": True,
        },
        {"message_id": "MG-2", "box": "sent", "number": "555-0102", "words": "The kiln, soon.", "day": "2026-03-01"},
    ],
}


def test_sending_needs_wifi() -> None:
    desk = Desk(WORLD, CONFIG | {"wifi": False})
    assert "Wi-Fi is off" in desk.refused("write_message", number="555-0101", words="a")
    assert "Wi-Fi is off" in desk.refused("answer_message", message_id="MG-1", words="a")
    assert desk.reads("find_number", name="eva dahl")["number"] == "555-0102"


def test_a_message_is_sent_to_a_number_that_is_saved(desk: Desk) -> None:
    assert "saved" in desk.refused("write_message", number="555-9999", words="Hello.")
    assert "Eva" in desk.refused("find_number", name="Eva")
    assert desk.call("write_message", number="555-0102", words="Hello.") == {"message_id": "MG-70"}
    assert desk.world.public(desk.state)["messages"][-1] == {
        "message_id": "MG-70",
        "box": "sent",
        "number": "555-0102",
        "words": "Hello.",
        "day": "2026-03-02",
        "is_unread": False,
    }


def test_there_is_place_for_so_many(desk: Desk) -> None:
    assert desk.reads("list_messages")["free_places"] == 1
    desk.call("answer_message", message_id="MG-1", words="Good.")
    assert "Remove one first" in desk.refused("write_message", number="555-0101", words="a")
    assert desk.call("remove_message", message_id="MG-1")["status"] == "removed"
    assert desk.call("write_message", number="555-0101", words="a") == {"message_id": "MG-71"}
    assert desk.world.public(desk.state)["removed"] == ("MG-1",)


def test_what_came_is_found_opened_and_answered(desk: Desk) -> None:
    assert [one["message_id"] for one in desk.reads("find_messages", words="kiln")["messages"]] == ["MG-1"]
    assert "soon" in desk.refused("find_messages", words="soon")
    assert [one["message_id"] for one in desk.reads("list_messages", unread_only=True)["messages"]] == ["MG-1"]
    assert desk.call("open_message", message_id="MG-1")["words"] == "The Kiln is hot."
    assert desk.reads("list_messages", unread_only=True)["messages"] == []
    assert desk.call("answer_message", message_id="MG-1", words="Good.")["number"] == "555-0101"
    assert "not received" in desk.refused("answer_message", message_id="MG-2", words="a")
    assert "MG-9" in desk.refused("remove_message", message_id="MG-9")
