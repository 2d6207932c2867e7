from tests.iad_envs.toolcalls.worlds.world_calls import Desk

WORLD = "Notebook"
CONFIG = {
    "folders": ["/house", "/house/repairs", "/club"],
    "notes": [
        {"folder": "/", "title": "plan", "text": "Paint the hall."},
        {"folder": "/house/repairs", "title": "roof", "text": "A tile is loose.", "tags": ["old"]},
    ],
}


def test_folders_are_opened_and_which_one_is_open_is_not_compared() -> None:
    for steps, path in (
        (["house"], "/house"),
        (["house", "repairs"], "/house/repairs"),
        (["/house/repairs"], "/house/repairs"),
        (["/house/repairs", ".."], "/house"),
        (["house", ".."], "/"),
        ([".."], "/"),
        (["house", "/"], "/"),
        (["house/repairs/"], "/house/repairs"),
    ):
        desk = Desk(WORLD, CONFIG)
        before = desk.world.public(desk.state)
        assert [desk.call("open_folder", folder=step) for step in steps][-1] == {"current_folder": path}
        assert desk.world.public(desk.state) == before


def test_all_notes_are_searched_and_folders_shown_and_made(desk: Desk) -> None:
    for folder in ("repairs", "/nowhere", "", "/house//repairs"):
        assert "no folder" in desk.refused("open_folder", folder=folder)
    assert desk.reads("search_notes", words="TILE") == {"matches": [{"folder": "/house/repairs", "title": "roof"}]}
    assert "No note" in desk.refused("search_notes", words="cellar")
    assert desk.reads("show_folder") == {"current_folder": "/", "folders": ["club", "house"], "notes": ["plan"]}
    desk.call("open_folder", folder="house")
    assert desk.reads("show_folder") == {"current_folder": "/house", "folders": ["repairs"], "notes": []}
    assert desk.call("make_folder", folder="trips") == {"path": "/house/trips"}
    assert "already" in desk.refused("make_folder", folder="trips")
    assert "without a slash" in desk.refused("make_folder", folder="a/b")
    assert "without a slash" in desk.refused("make_folder", folder="..")


def test_a_note_is_written_and_read(desk: Desk) -> None:
    desk.call("open_folder", folder="club")
    assert desk.call("write_note", title="songs", text="One.") == {"path": "/club/songs"}
    assert desk.reads("read_note", title="songs") == {"title": "songs", "text": "One.", "tags": []}
    assert "already" in desk.refused("write_note", title="songs")
    assert "without a slash" in desk.refused("write_note", title="a/b")
    assert "no note 'plan' in /club" in desk.refused("read_note", title="plan")


def test_lines_are_added(desk: Desk) -> None:
    assert desk.call("append_line", title="plan", text="Twice.") == {"title": "plan", "lines": 2}
    assert desk.reads("read_note", title="plan")["text"] == "Paint the hall.\nTwice."
    desk.call("write_note", title="blank")
    assert desk.call("append_line", title="blank", text="First.")["lines"] == 1
    assert "no note" in desk.refused("append_line", title="roof", text="x")
    for _ in range(3):
        desk.call("append_line", title="plan", text="x" * 20_000)
    assert "characters" in desk.refused("append_line", title="plan", text="x" * 20_000)


def test_a_note_is_moved(desk: Desk) -> None:
    assert desk.call("move_note", title="plan", folder="house") == {"path": "/house/plan"}
    assert "no note" in desk.refused("move_note", title="plan", folder="club")
    desk.call("write_note", title="plan")
    assert "already" in desk.refused("move_note", title="plan", folder="house")
    assert "no folder" in desk.refused("move_note", title="plan", folder="attic")


def test_a_note_is_tagged_and_deleted(desk: Desk) -> None:
    assert desk.call("remove_note", title="plan") == {"title": "plan", "status": "deleted"}
    assert [note.title for note in desk.state.notes] == ["roof"]
    assert "no note" in desk.refused("remove_note", title="plan")
    desk.call("open_folder", folder="/house/repairs")
    assert desk.call("tag_note", title="roof", tag="urgent")["tags"] == ["old", "urgent"]
    assert "new word" in desk.refused("tag_note", title="roof", tag="old")
