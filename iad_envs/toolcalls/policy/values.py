"""Where an argument's value may come from: the user's words, or earlier results. Each value has a fit."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from iad_envs.toolcalls.policy.documents import LOOKING, Kind, Parameter, Returned, Tool, shape_of
from iad_envs.toolcalls.policy.mentions import Clause, Mention
from iad_envs.toolcalls.policy.reading import Dialogue, MadeCall
from iad_envs.toolcalls.policy.words import STOP, near, stem, stem_set, stems, word_set, words

REFERRING = word_set("it its this that these those same them there such so")
AMOUNTS = word_set("all every everything much many whole total sum result exactly")
TAKEN_OVER = AMOUNTS | word_set("same its just only nothing as word")
"""Words of a request that takes a text or a number over from a result."""
OPTIONALLY = word_set("same this that as those its just only exactly nothing word")
"""Words without which a value that may be left out is not taken from a result."""
INDEFINITE = word_set("a an some another any")
ENOUGH = 0.3
"""Least fit of a value that is taken."""
EARLIER, PER_CALL = 0.12, 0.08
"""Less for a value of an earlier turn, and for each call since then."""
LOOKED_FOR = 0.35
"""Less for a value of an earlier turn where the user wants to look for something."""
UNUSED = 0.3
"""Less for a value of an earlier turn where the request has a value that the function can't take."""
OF_SEVERAL = 0.15
"""Less for a value of an earlier turn that is one of several in a list."""
FROM_ELSEWHERE, FROM_BEFORE, CHOICE_FROM_ELSEWHERE, TAKEN = 0.2, 0.1, 0.05, 0.3
"""Less for a value in another clause, for the last one before a clause without any, for a choice in another clause, and
for a value that another call of this turn has had."""
_SOURCES = frozenset(map(stem, ("from", "origin", "start", "source", "departure", "begin", "old", "first")))
_TARGETS = frozenset(map(stem, ("to", "destination", "end", "target", "arrival", "until", "new", "later", "wanted")))
_SOURCE_CUES = frozenset(map(stem, ("from", "between")))
_TARGET_CUES = frozenset(map(stem, ("to", "into", "in", "until", "and", "many", "much")))


class Value(NamedTuple):
    """A value for a parameter.

    Attributes:
        value: The value.
        fit: How well it fits, from about 0 to 1.5.
        mention: Where it stands in the request; None if it does not.
        is_referred: Whether it comes from an earlier call or result.
    """

    value: Any
    fit: float
    mention: Mention | None = None
    is_referred: bool = False


def values_for(at: Dialogue, tool: Tool, one: Parameter, clause: Clause | None) -> list[Value]:
    """Return the values that a parameter may have in a call that a clause asks for, the best first."""
    found: dict[str, Value] = {}
    for value in (*_said(at, tool, one, clause), *_referred(at, tool, one, clause)):
        key = repr(value.value)
        if value.fit >= ENOUGH and (key not in found or value.fit > found[key].fit):
            found[key] = value
    return sorted(found.values(), key=lambda value: -value.fit)


def _said(at: Dialogue, tool: Tool, one: Parameter, clause: Clause | None) -> Iterator[Value]:
    """Yield values of the user's words."""
    if one.kind == "truth":
        yield from _truth(at, one, clause)
        return
    if one.choices and one.kind != "list":
        yield from _choices(at, tool, one, clause)
        return
    if one.kind == "list":
        yield from _lists(at, one, clause)
        return
    taken = _taken(at, tool)
    earlier = [mention for mention in at.mentions if clause is not None and mention.clause < clause.place]
    before = earlier[-1] if earlier and clause is not None and not clause.mentions else None
    for mention in at.mentions:
        fit = type_fit(at, one, mention)
        if fit <= 0.0:
            continue
        fit += cue(one, mention)
        if clause is not None and mention.clause != clause.place:
            fit -= FROM_BEFORE if mention == before else FROM_ELSEWHERE
        if (mention.start, mention.end) in taken or str(mention.value) in taken:
            fit -= TAKEN
        yield Value(_as(one.kind, mention.value), fit, mention)


def _taken(at: Dialogue, tool: Tool) -> set[Any]:
    """Return the values that calls of other functions in this turn have had."""
    return {str(value) for call in at.worked if call.name != tool.name for value in call.arguments.values()}


def type_fit(at: Dialogue, one: Parameter, mention: Mention) -> float:
    """Return how well the kind of a mention fits a parameter, before its words are looked at; 0 if it can't be."""
    kind = mention.kind
    if one.kind in ("whole", "number"):
        if kind != "number" or (one.kind == "whole" and mention.value != int(mention.value)):
            return 0.0
        if at.is_listed(mention) or is_of_other_unit(at, one, mention):
            return 0.2
        return 0.6
    if one.kind not in ("text", "any"):
        return 0.0
    if one.is_id:
        return _id_fit(at, one, mention)
    if one.is_date:
        return {"date": 1.0, "quote": 0.1}.get(kind, 0.0)
    if one.is_mail:
        return {"mail": 1.0, "quote": 0.1}.get(kind, 0.0)
    if one.is_time:
        return {"time": 1.0, "quote": 0.1}.get(kind, 0.0)
    if one.is_user:
        return {"user": 1.0, "quote": 0.4, "name": 0.3, "span": 0.2}.get(kind, 0.0)
    if kind == "span":
        is_told = bool(mention.before) and mention.before[0] in _BEFORE_THINGS
        return 0.45 if is_told else 0.32
    if kind == "name":
        if str(mention.value)[0].isdigit():
            return 0.85 if {"street", "address"} & set(words(one.name)) else 0.3
        return 0.9 if one.is_person else 0.55
    if kind == "quote" and str(mention.value).startswith("/"):
        return 0.9 if {stem(word) for word in words(one.name)} & _PATHS else 0.4
    if kind == "id":
        return 0.1 if shape_of(str(mention.value)) in at.id_shapes else 0.25
    return {
        "quote": 0.55 if one.is_person else 0.7,
        "date": 0.2,
        "mail": 0.3,
        "time": 0.2,
        "user": 0.2,
        "number": 0.3 if _is_numbered(one) else 0.0,
    }[kind]


def is_of_other_unit(at: Dialogue, one: Parameter, mention: Mention) -> bool:
    """Whether a unit follows the number that functions convert, and that the parameter is not in."""
    unit = next((word for word in mention.after if word not in _DEGREES), "")
    owners = at.known.choosers(unit)
    if not owners or any(other == one.name for other in owners.values()):
        return False
    told = {word for part in (*one.name_stems, *one.about_stems) for word in near(part)}
    return one.owner not in owners and unit not in told


_DEGREES = frozenset((stem("degrees"), "of"))


def converts_to(one: Parameter, tool: Tool) -> bool:
    """Whether a function converts numbers into a unit that a parameter is in."""
    told = {word for part in (*one.name_stems, *one.about_stems) for word in near(part)}
    has_number = any(other.kind in ("whole", "number") and other.is_required for other in tool.parameters)
    units = {word for other in tool.parameters for choice in other.choices for word in stems(str(choice))}
    return one.kind in ("whole", "number") and has_number and bool(units & told)


def _is_numbered(one: Parameter) -> bool:
    return bool({stem(word) for word in words(one.name)} & _NUMBERED)


_PATHS = stem_set("folder directory path file dir location")
_NUMBERED = stem_set("number phone code zip id version account pin")
_BEFORE_THINGS = frozenset(map(stem, ("the", "of", "in", "with", "for", "mean", "take", "a", "an", "my")))


def _id_fit(at: Dialogue, one: Parameter, mention: Mention) -> float:
    has_shape = one.name in at.id_shapes.values()
    if mention.kind in ("quote", "number"):
        return 0.0 if has_shape else 0.35
    if mention.kind != "id":
        return 0.0
    shape = shape_of(str(mention.value))
    owner = at.id_shapes.get(shape)
    if owner is not None:
        return 1.0 if owner == one.name else 0.0
    return 0.8 if _is_short_for(shape, "".join(words(one.name)[:-1])) else 0.45


def _is_short_for(shape: str, word: str) -> bool:
    letters = iter(word.upper())
    return bool(shape) and all(letter in letters for letter in shape)


def cue(one: Parameter, mention: Mention) -> float:
    """Return how much the words around a mention speak for a parameter, 0 to about 0.6."""
    names = {word for part in one.name_stems for word in near(part)}
    about = {word for part in one.about_stems for word in near(part)}
    best = 0.0
    for place, word in enumerate((*mention.before, None, *mention.after)):
        if word is None or word in STOP:
            continue
        distance = place if place < len(mention.before) else place - len(mention.before) - 1
        weight = 0.55 if word in names else 0.3 if word in about else 0.0
        best = max(best, weight * (1.0 - 0.15 * distance))
    return best + _direction(one, mention) + _location(one, mention)


def _location(one: Parameter, mention: Mention) -> float:
    """Return what `in` before a value says of a parameter that is a place."""
    if mention.kind not in ("span", "name") or not {stem(word) for word in words(one.name)} & _PLACES:
        return 0.0
    if set(mention.before[:2]) & {"in", "at"}:
        return 0.2
    return 0.0 if mention.before[:1] in (("the",), ("of",)) else -0.1


_PLACES = stem_set("zone room city place location area country region town street harbour airport")


def _direction(one: Parameter, mention: Mention) -> float:
    """Return what `from` and `to` before a value say of a parameter that is one of two ends."""
    first = mention.before[0] if mention.before else ""
    names = {stem(word) for word in words(one.name)} | {stem(word) for word in words(one.about)[:4]}
    is_source, is_target = bool(names & _SOURCES), bool(names & _TARGETS)
    if is_source == is_target:
        return 0.0
    if first in _SOURCE_CUES:
        return 0.3 if is_source else -0.2
    if first in _TARGET_CUES:
        return 0.3 if is_target else -0.2
    return 0.1 if is_source and _NUMBER in mention.before[:1] else 0.0


_NUMBER = "#"


def _truth(at: Dialogue, one: Parameter, clause: Clause | None) -> Iterator[Value]:
    """Yield True if the parameter's own words are said."""
    said = set(clause.stems if clause is not None else at.stems) | (at.stems if clause is None else set())
    names = [word for word in one.name_stems if word not in _WEAK]
    if names and any(word in said for word in names):
        yield Value(True, 0.8)
    elif one.is_required:
        yield Value(True, 0.4)
        yield Value(False, 0.35)


_WEAK = frozenset(map(stem, ("only", "is", "use", "include", "with", "has")))


def _choices(at: Dialogue, tool: Tool, one: Parameter, clause: Clause | None) -> Iterator[Value]:
    """Yield the choices that are said."""
    rivals = [other for other in tool.parameters if other.choices == one.choices and other.name != one.name]
    for part in at.clauses:
        less = 0.0 if clause is None or part.place == clause.place else CHOICE_FROM_ELSEWHERE
        for choice in one.choices:
            mention = _place_of(str(choice), part)
            if mention is not None:
                direction = _direction_of_choice(one, mention) if rivals else 0.0
                yield Value(choice, 0.85 - less + direction, mention)


def _direction_of_choice(one: Parameter, mention: Mention) -> float:
    names = {stem(word) for word in words(one.name)} | {stem(word) for word in words(one.about)}
    is_target = bool(names & _TARGETS) and not names & frozenset(("from",))
    first = mention.before[0] if mention.before else ""
    follows_number = first == _NUMBER or (first in ("degr",) and _NUMBER in mention.before)
    if follows_number or first in _SOURCE_CUES:
        return -0.4 if is_target else 0.3
    return 0.3 if is_target and first in _TARGET_CUES else 0.0


def _place_of(choice: str, clause: Clause) -> Mention | None:
    """Return where a choice is said in a clause, in any form of its words."""
    wanted = stems(choice) or tuple(map(stem, words(choice)))
    said = _spoken(clause.text)
    forms = [frozenset((word,)) if len(word) < 4 else frozenset(_units(word)) for word in wanted]
    for start in range(len(said) - len(wanted) + 1):
        if wanted and all(said[start + place] in forms[place] for place in range(len(wanted))):
            before = tuple(said[max(0, start - 4) : start][::-1])
            # Words are counted here, and characters in other mentions: below 0 they can't overlap.
            return Mention("span", choice, start - len(said), start - len(said) + len(wanted), before, (), clause.place)
    return None


def _units(word: str) -> Iterator[str]:
    yield word
    if word.startswith("kilogram"):
        yield from ("kg", "kilo")


def _spoken(text: str) -> list[str]:
    """Return the stems of all words of a text. A number is `#`."""
    return [_NUMBER if word[0].isdigit() else stem(word) for word in words(text)]


def _lists(at: Dialogue, one: Parameter, clause: Clause | None) -> Iterator[Value]:
    """Yield a list of all values in a row that its items can be."""
    wanted = ("number",) if one.items in ("whole", "number") else ("quote", "name", "id", "mail", "span")
    for part in at.clauses:
        less = 0.0 if clause is None or part.place == clause.place else FROM_ELSEWHERE
        if one.choices:
            values = [choice for choice in one.choices if _place_of(str(choice), part)]
            if values:
                yield Value(values, 0.8 - less)
            continue
        kinds = [kind for kind in wanted if any(mention.kind == kind for mention in part.mentions)]
        for place, kind in enumerate(kinds[:2]):
            found = [mention for mention in part.mentions if mention.kind == kind]
            values = [_as(one.items, mention.value) for mention in found]
            fit = 0.55 + 0.1 * min(3, len(values)) + max(cue(one, mention) for mention in found) - 0.2 * place - less
            yield Value(values, fit if kind != "span" else fit - 0.25, found[0])


def _as(kind: Kind, value: Any) -> Any:
    if kind == "whole" and isinstance(value, float):
        return int(value)
    if kind == "number" and isinstance(value, int):
        return float(value)
    if kind == "text":
        return str(value)
    return value


def _referred(at: Dialogue, tool: Tool, one: Parameter, clause: Clause | None) -> Iterator[Value]:
    """Yield values of earlier results and calls."""
    if one.kind in ("truth", "list", "object") or (one.choices and one.kind != "any"):
        return
    spoken = set(words(clause.text if clause is not None else at.request))
    said = frozenset(stem(word) for word in spoken if word not in STOP)
    is_referring = _refers(one, spoken, clause, has_values=_has_open_values(at))
    if is_indefinite(one, at.request) and not at.worked:
        return
    takes_text = any(other.kind == "text" and not other.is_id for other in tool.parameters)
    pressing = UNUSED if _has_open_values(at) and not takes_text else 0.0
    pressing += LOOKED_FOR if clause is not None and clause.verb in LOOKING else 0.0
    names = set(one.name_stems)
    spoken_here = set(words(at.request))
    for age, call in enumerate(reversed(at.made)):
        is_now = call.turn == at.turn
        if call.has_failed or (not is_now and not is_referring):
            continue
        told = at.stems if is_now else said
        if not one.is_required and not (spoken_here & OPTIONALLY and told & names):
            continue
        less = 0.0 if is_now else pressing + EARLIER + PER_CALL * age
        for found in _results_of(at, call):
            key_fit = key_match(one, found.key, found.about, said | (at.stems if is_now else frozenset()))
            key_fit = max(key_fit, _unit_fit(one, found.record)) if found.key in ("value", "result") else key_fit
            if key_fit > 0.0 and _is_of_kind(at, one, found.value):
                fit = key_fit - less + _record_fit(at, found) - 0.02 * min(found.place, 10)
                fit -= OF_SEVERAL * (found.n > 1 and not is_now)
                yield Value(_as(one.kind, found.value), fit, None, is_referred=True)
        for name, value in call.arguments.items():
            may_be = one.is_id or (bool(spoken & REFERRING) and not is_now)
            if name == one.name and may_be and _is_of_kind(at, one, value):
                yield Value(value, 0.74 - less - (0.1 if is_now else 0.0), None, is_referred=True)


class _Part(NamedTuple):
    key: str
    value: Any
    about: str
    record: Mapping[str, Any]
    place: int
    n: int


def _results_of(at: Dialogue, call: MadeCall) -> Iterator[_Part]:
    tool = at.known.tools.get(call.name)
    about = {one.key: one.about for one in tool.returns} if tool is not None else {}
    yield from _parts(call.data, about, 0, 1)


def _parts(data: Any, about: Mapping[str, str], place: int, n: int) -> Iterator[_Part]:
    if isinstance(data, Mapping):
        for key, value in data.items():
            if isinstance(value, Mapping | list):
                yield from _parts(value, about, place, n)
            elif value not in (None, ""):
                yield _Part(str(key), value, about.get(str(key), ""), data, place, n)
    elif isinstance(data, Sequence) and not isinstance(data, str):
        for number, item in enumerate(data):
            yield from _parts(item, about, number, len(data))


def key_match(one: Parameter, key: str, about: str, said: frozenset[str]) -> float:
    """Return how well a part of a result is what a parameter takes, 0 to about 1.

    Args:
        one: The parameter.
        key: The part's key.
        about: What the document says of it.
        said: Stems of the user's words.
    """
    keys = set(stems(key)) - {"id"}
    names = set(one.name_stems)
    if key == one.name:
        fit = 0.75
    elif one.is_id:
        says_id = about.startswith("Id ")
        by_key = bool(keys & names) and (key.endswith("id") or says_id)
        if not by_key and not (says_id and names & set(stems(about))):
            return 0.0
        fit = 0.5
    elif keys & names:
        fit = 0.5
    else:
        told = set(stems(about)) | keys
        wanted = (set(one.about_stems) | names) - _EMPTY
        shared = {word for word in wanted if near(word) & told}
        fit = 0.6 * len(shared) / len(wanted) if wanted else 0.0
        if one.kind == "text" and key.endswith("id"):
            fit = 0.25 if "id" in said else 0.0
    if fit or one.kind == "text":
        told = (set(stems(about)) | set(stems(key))) - _EMPTY
        shared = told & said
        fit += 0.25 * min(1.0, len(shared) / 2) if one.name != key or not one.is_id else 0.1 * bool(shared)
    return fit if fit >= 0.2 else 0.0


_EMPTY = stem_set("id text name value new day date list result")


def _unit_fit(one: Parameter, record: Mapping[str, Any]) -> float:
    """Return whether a record names the unit that a parameter is in."""
    wanted = {word for part in (*one.name_stems, *one.about_stems) for word in near(part)}
    units = {stem(value) for value in record.values() if isinstance(value, str)}
    if units & wanted:
        return 0.7
    return 0.4 if not units and one.kind in ("number", "whole") else 0.0


def _is_of_kind(at: Dialogue, one: Parameter, value: Any) -> bool:
    if one.kind in ("whole", "number"):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and (one.kind == "number" or float(value).is_integer())
    if one.kind != "text":
        return True
    if not isinstance(value, str):
        return False
    if one.is_id:
        owner = at.id_shapes.get(shape_of(value))
        return owner is None or owner == one.name
    if one.is_mail:
        return "@" in value
    return True


def _record_fit(at: Dialogue, found: _Part) -> float:
    """Return how well the record that a value is in agrees with the request: a free bed, the card of that name."""
    fit = 0.0
    for key, value in found.record.items():
        if isinstance(value, bool):
            if set(stems(key)) - {"is"} & at.stems and any(one in at.stems for one in stems(key)):
                fit += 0.15 if value else -0.15
        elif isinstance(value, str) and value and key != found.key:
            parts = {stem(word) for word in words(value)} - _SMALL
            if parts and parts <= at.stems:
                fit += 0.2
    return fit


_SMALL = frozenset(map(stem, STOP))


def _has_open_values(at: Dialogue) -> bool:
    """Whether the request has a text or a name that no call of this turn has used."""
    used = {str(value) for call in at.worked for value in call.arguments.values()}
    return any(one.kind in ("span", "name", "quote") and str(one.value) not in used for one in at.mentions)


def _refers(one: Parameter, spoken: set[str], clause: Clause | None, *, has_values: bool) -> bool:
    """Whether a clause points to something earlier that the parameter may be: `it`, `this bed`, `the bed`."""
    if spoken & {"it", "its", "them", "there"} and one.kind not in ("number", "whole"):
        return True
    if not one.is_id and spoken & (AMOUNTS if one.kind in ("number", "whole") else AMOUNTS | REFERRING):
        return True
    text = words(clause.text) if clause is not None else []
    names = set(one.name_stems)
    for place, word in enumerate(text):
        if near(stem(word)) & names:
            before = set(text[max(0, place - 2) : place])
            if before & {"this", "that", "same", "these"} or ("the" in before and not has_values):
                return True
    return False


def is_indefinite(one: Parameter, request: str) -> bool:
    """Whether the user leaves open which one: `a book`, `one of our members`."""
    text = words(request)
    names = set(one.name_stems)
    for place, word in enumerate(text):
        if stem(word) in names:
            before = text[max(0, place - 3) : place]
            if before[-1:] and before[-1] in INDEFINITE:
                return True
            if "one" in before and "of" in before:
                return True
    return False


def returned_match(one: Parameter, part: Returned, said: frozenset[str]) -> float:
    """Return how well what a function returns is what a parameter takes."""
    return key_match(one, part.key, part.about, said)
