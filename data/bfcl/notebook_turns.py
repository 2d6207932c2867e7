"""Turns in the notebook."""

from collections.abc import Iterator
from typing import Any

from story import Said, Story, Unfit, only, turn


def notes_here(story: Story) -> Iterator[Any]:
    """Yield the notes of the open folder."""
    state = story.state("Notebook")
    return (note for note in state.notes if note.folder == state.here)


def folders_here(story: Story) -> list[str]:
    """Return the names of the folders in the open one."""
    state = story.state("Notebook")
    start = "/" if state.here == "/" else f"{state.here}/"
    inside = [one[len(start) :] for one in state.folders if one.startswith(start)]
    return [name for name in inside if name and "/" not in name]


def hidden_note(story: Story) -> tuple[Any, str]:
    """Draw a note of another folder, and words that only stand in it."""
    state = story.state("Notebook")
    note = story.new(note for note in state.notes if note.folder != state.here)
    words = [words for title, _, words in story.scene.words["notes"] if title == note.title]
    if not words:
        raise Unfit
    return note, words[0]


def found_note(story: Story) -> tuple[Any, str]:
    """Draw a note of another folder, find it, and open its folder."""
    note, words = hidden_note(story)
    found = only(story.call("search_notes", words=words)["matches"])
    story.call("open_folder", folder=found["folder"])
    return note, words


@turn("plain", "Notebook")
def enter(story: Story) -> Said:
    """Open a folder and look around."""
    folder = story.new(folders_here(story))
    story.call("open_folder", folder=folder)
    story.call("show_folder")
    return {"folder": folder}


@turn("plain", "Notebook")
def enter_quietly(story: Story) -> Said:
    """Open a folder."""
    folder = story.new(folders_here(story))
    story.call("open_folder", folder=folder)
    return {"folder": folder}


@turn("plain", "Notebook")
def enter_path(story: Story) -> Said:
    """Open a folder by its path."""
    state = story.state("Notebook")
    folder = story.new(one for one in state.folders if one.count("/") == 2 and one != state.here)
    story.call("open_folder", folder=folder)
    return {"folder": folder}


@turn("plain", "Notebook")
def write(story: Story) -> Said:
    """Write a note."""
    title, text = story.word("titles"), story.word("lines")
    story.call("write_note", title=title, text=text)
    story.note(title=title)
    return {"title": title, "text": text}


@turn("plain", "Notebook")
def write_empty(story: Story) -> Said:
    """Write an empty note."""
    title = story.word("titles")
    story.call("write_note", title=title)
    story.note(title=title)
    return {"title": title}


@turn("follows", "Notebook")
def add_to_that(story: Story) -> Said:
    """Add a line to the note the turn before was about."""
    title, text = story.recall("title"), story.word("lines")
    story.call("append_line", title=title, text=text)
    story.note(title=title)
    return {"text": text}


@turn("plain", "Notebook")
def add_line(story: Story) -> Said:
    """Add a line to a note."""
    note, text = story.new(notes_here(story)), story.word("lines")
    story.call("append_line", title=note.title, text=text)
    story.note(title=note.title)
    return {"title": note.title, "text": text}


@turn("plain", "Notebook")
def read(story: Story) -> Said:
    """Read a note."""
    note = story.new(notes_here(story))
    story.call("read_note", title=note.title)
    story.note(title=note.title)
    return {"title": note.title}


@turn("looked_up", "Notebook")
def read_found(story: Story) -> Said:
    """Find a note and read it."""
    note, words = found_note(story)
    story.call("read_note", title=note.title)
    story.note(title=note.title)
    return {"words": words}


@turn("looked_up", "Notebook")
def tag_found(story: Story) -> Said:
    """Find a note and tag it."""
    note, words = found_note(story)
    tag = story.word("tags")
    story.call("tag_note", title=note.title, tag=tag)
    story.note(title=note.title)
    return {"words": words, "tag": tag}


@turn("looked_up", "Notebook")
def add_to_found(story: Story) -> Said:
    """Find a note and add a line."""
    note, words = found_note(story)
    text = story.word("lines")
    story.call("append_line", title=note.title, text=text)
    story.note(title=note.title)
    return {"words": words, "text": text}


@turn("plain", "Notebook")
def search(story: Story) -> Said:
    """Search all notes."""
    _, words = hidden_note(story)
    story.call("search_notes", words=words)
    return {"words": words}


@turn("plain", "Notebook")
def tag(story: Story) -> Said:
    """Tag a note."""
    note, label = story.new(notes_here(story)), story.word("tags")
    story.call("tag_note", title=note.title, tag=label)
    story.note(title=note.title)
    return {"title": note.title, "tag": label}


@turn("follows", "Notebook")
def tag_that(story: Story) -> Said:
    """Tag the note the turn before was about."""
    title, label = story.recall("title"), story.word("tags")
    story.call("tag_note", title=title, tag=label)
    story.note(title=title)
    return {"tag": label}


@turn("plain", "Notebook")
def put_away(story: Story) -> Said:
    """Make a folder and move a note into it."""
    note = story.new(notes_here(story))
    folder = story.new(one for one in story.scene.words["subfolders"] if one not in folders_here(story))
    story.call("make_folder", folder=folder)
    story.call("move_note", title=note.title, folder=folder)
    return {"title": note.title, "folder": folder}


@turn("plain", "Notebook")
def move(story: Story) -> Said:
    """Move a note into a folder that is there."""
    folder, note = story.new(folders_here(story)), story.new(notes_here(story))
    story.call("move_note", title=note.title, folder=folder)
    return {"title": note.title, "folder": folder}


@turn("plain", "Notebook")
def make(story: Story) -> Said:
    """Make a folder."""
    folder = story.new(one for one in story.scene.words["subfolders"] if one not in folders_here(story))
    story.call("make_folder", folder=folder)
    return {"folder": folder}


@turn("plain", "Notebook")
def remove(story: Story) -> Said:
    """Delete a note."""
    note = story.new(notes_here(story))
    story.call("remove_note", title=note.title)
    return {"title": note.title}


@turn("looked_up", "Notebook")
def copy_text(story: Story) -> Said:
    """Copy a note's text into a new note."""
    note, title = story.new(notes_here(story)), story.word("titles")
    text = story.call("read_note", title=note.title)["text"]
    story.call("write_note", title=title, text=text)
    story.note(title=title)
    return {"old": note.title, "new": title}
