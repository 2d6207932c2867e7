"""A notebook: notes in folders, one of which is open."""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from iad_envs.toolcalls.worlds.functions import MAX_TEXT, After, FunctionWorld, Refused

ROOT = "/"


class Note(NamedTuple):
    """A note; its title is unique in its folder."""

    folder: str
    title: str
    text: str = ""
    tags: tuple[str, ...] = ()


class NotebookState(NamedTuple):
    """Folders are paths from the root, such as `/house/repairs`; `here` is the open one."""

    here: str
    folders: tuple[str, ...]
    notes: tuple[Note, ...]


class NotebookWorld(FunctionWorld[NotebookState]):
    """Ten functions of a notebook. Which folder is open is not compared."""

    name = "Notebook"
    lasting = frozenset(("remove_note",))

    def load(self, config: Mapping[str, Any], *, long_context: bool = False) -> NotebookState:
        """Return the state at the start."""
        folders = (ROOT, *config.get("folders", ()))
        notes = tuple(Note(**one | {"tags": tuple(one.get("tags", ()))}) for one in config.get("notes", ()))
        return NotebookState(
            here=config.get("here", ROOT),
            folders=(*folders, "/logbook") if long_context else folders,
            notes=notes + more_notes() if long_context else notes,
        )

    def public(self, state: NotebookState) -> Mapping[str, Any]:
        """Return what a checker compares."""
        return {"folders": state.folders, "notes": state.notes}

    def open_folder(self, state: NotebookState, folder: str) -> After[NotebookState]:
        """Open a folder."""
        path = _path(state, folder)
        return state._replace(here=path), {"current_folder": path}

    def show_folder(self, state: NotebookState) -> After[NotebookState]:
        """Show the open folder."""
        start = _inside(state.here)
        names = [one[len(start) :] for one in state.folders if one.startswith(start) and one != ROOT]
        return state, {
            "current_folder": state.here,
            "folders": sorted(name for name in names if "/" not in name),
            "notes": sorted(note.title for note in state.notes if note.folder == state.here),
        }

    def make_folder(self, state: NotebookState, folder: str) -> After[NotebookState]:
        """Make a folder."""
        if not folder.strip(". ") or "/" in folder:
            raise Refused(f"folder must be a name without a slash, got {folder!r}.")
        path = _inside(state.here) + folder
        if path in state.folders:
            raise Refused(f"There is a folder {path!r} already.")
        return state._replace(folders=(*state.folders, path)), {"path": path}

    def write_note(self, state: NotebookState, title: str, text: str = "") -> After[NotebookState]:
        """Write a note."""
        if not title.strip() or "/" in title:
            raise Refused(f"title must be a text without a slash, got {title!r}.")
        if any(note[:2] == (state.here, title) for note in state.notes):
            raise Refused(f"There is a note {title!r} in {state.here} already.")
        after = state._replace(notes=(*state.notes, Note(state.here, title, text)))
        return after, {"path": _inside(state.here) + title}

    def append_line(self, state: NotebookState, title: str, text: str) -> After[NotebookState]:
        """Add a line to a note."""
        note = _note(state, title)
        new = note._replace(text=f"{note.text}\n{text}" if note.text else text)
        if len(new.text) > MAX_TEXT:
            raise Refused(f"{title!r} would have more than {MAX_TEXT} characters.")
        return _with(state, note, new), {"title": title, "lines": new.text.count("\n") + 1}

    def read_note(self, state: NotebookState, title: str) -> After[NotebookState]:
        """Read a note."""
        note = _note(state, title)
        return state, {"title": title, "text": note.text, "tags": list(note.tags)}

    def search_notes(self, state: NotebookState, words: str) -> After[NotebookState]:
        """Search all notes."""
        sought = words.strip().lower()
        matches = [
            {"folder": note.folder, "title": note.title}
            for note in state.notes
            if sought and (sought in note.title.lower() or sought in note.text.lower())
        ]
        if not matches:
            raise Refused(f"No note has {words!r} in its title or text.")
        return state, {"matches": matches}

    def tag_note(self, state: NotebookState, title: str, tag: str) -> After[NotebookState]:
        """Tag a note."""
        note = _note(state, title)
        if tag in note.tags or not tag.strip():
            raise Refused(f"tag must be a new word for {title!r}, got {tag!r}.")
        new = note._replace(tags=(*note.tags, tag))
        return _with(state, note, new), {"title": title, "tags": list(new.tags)}

    def move_note(self, state: NotebookState, title: str, folder: str) -> After[NotebookState]:
        """Move a note."""
        note, path = _note(state, title), _path(state, folder)
        if any(one[:2] == (path, title) for one in state.notes):
            raise Refused(f"There is a note {title!r} in {path} already.")
        return _with(state, note, note._replace(folder=path)), {"path": _inside(path) + title}

    def remove_note(self, state: NotebookState, title: str) -> After[NotebookState]:
        """Delete a note."""
        note = _note(state, title)
        after = state._replace(notes=tuple(one for one in state.notes if one is not note))
        return after, {"title": title, "status": "deleted"}


def _inside(folder: str) -> str:
    """Return how the paths of what is in a folder begin."""
    return folder if folder == ROOT else f"{folder}/"


def _path(state: NotebookState, folder: str) -> str:
    if folder == "..":
        return state.here.rpartition("/")[0] or ROOT
    name = folder if folder == ROOT else folder.removesuffix("/")
    path = name if name.startswith("/") else _inside(state.here) + name
    if not name or path not in state.folders:
        raise Refused(f"There is no folder {folder!r} in {state.here}.")
    return path


def _note(state: NotebookState, title: str) -> Note:
    note = next((one for one in state.notes if one.title == title and one.folder == state.here), None)
    if note is None:
        raise Refused(f"There is no note {title!r} in {state.here}.")
    return note


def _with(state: NotebookState, old: Note, new: Note) -> NotebookState:
    return state._replace(notes=tuple(new if one is old else one for one in state.notes))


@cache
def more_notes() -> tuple[Note, ...]:
    """Return the notes of a long context."""
    return tuple(
        Note("/logbook", f"entry {number:03d}", "\n".join(f"{hour:02d}:00 nothing to report" for hour in range(12)))
        for number in range(240)
    )
