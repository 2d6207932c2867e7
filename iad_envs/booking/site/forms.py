"""Reads the values of a page's form as the engine reads what is typed."""

from collections.abc import Mapping

from iad_envs.booking.engine import refused_value
from iad_envs.booking.pages import SitePage
from iad_envs.booking.reading import MAX_ACTION, MAX_FIELD, SETTING, is_typable, set_value
from iad_envs.booking.state import BookingState
from iad_envs.booking.world import BookingWorld


def filled(
    world: BookingWorld, state: BookingState, page: SitePage, given: Mapping[str, str]
) -> tuple[BookingState, str]:
    """Return the state with the values of a form, and why one of them can't be, or "".

    A value that can't be is left as it was. Fields that are not on the page are ignored.

    Args:
        world: The restaurants.
        state: The state in which the page was seen.
        page: Its page.
        given: The form: id of a field or list -> its value.
    """
    on_page = {one.id for one in page.elements if one.kind in ("field", "list")}
    complaints, typed = [], []
    for name, value in state.typed:
        if name in on_page and name in given:
            complaint = _refusal(world, name, given[name])
            complaints.append(complaint)
            value = value if complaint else _canonical(name, given[name])
        typed.append((name, value))
    if sum(len(value) for _, value in typed) > MAX_ACTION:
        return state, f"expected at most {MAX_ACTION} characters in all fields together, got more; say it shorter"
    return state._replace(typed=tuple(typed)), next(filter(None, complaints), "")


def _refusal(world: BookingWorld, name: str, value: str) -> str:
    """Return why a field can't have a value, or ""."""
    if name == "city":
        cities = ", ".join(world.cities.values())
        return "" if value in world.cities else f"expected one of {cities}, got {value[:60]!r}"
    if name in SETTING:
        return refused_value(name, value) if value else ""
    if len(value) > MAX_FIELD:
        return f"expected at most {MAX_FIELD} characters in a field, got {len(value)}; say it shorter"
    return "" if is_typable(value) else "expected a text of one line without control characters, got one that has some"


def _canonical(name: str, value: str) -> str:
    return set_value(name, value) if name in SETTING else value
