"""What the request asks for: goals, one for each thing, and the call that brings each of them nearer."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from iad_envs.toolcalls.policy.binding import Binding, bindings
from iad_envs.toolcalls.policy.documents import IN_NAME, LOOKING, Parameter, Tool, shape_of
from iad_envs.toolcalls.policy.mentions import NOUN, VERB, Clause
from iad_envs.toolcalls.policy.reading import SOLID, Dialogue
from iad_envs.toolcalls.policy.values import TAKEN_OVER, converts_to, is_indefinite, is_of_other_unit, returned_match
from iad_envs.toolcalls.policy.words import near, stem, stem_set, words

LEAST_MATCH = 0.34
"""Share of a clause's words that a function has to explain to be its goal."""
CONVERTED = 0.7
"""How well what a function converts matches a parameter in that unit."""
LEAST_LINK = 0.45
"""How well what a function returns has to match the parameter that needs it."""
DEPTH = 3
"""Calls in a row that get one argument."""
FITTING, COVERING, INCOMPLETE, NEWLY = 0.3, 0.35, 0.2, 0.3
"""What a function's score gains from arguments that fit and from the clause's values it uses, loses where an argument
is not to be had, and gains where it is offered only now that the user asks again."""
LEAST_SURE = 0.8
"""How sure a function has to be; otherwise the agent says that it has none."""
OF_ARGUMENTS = 0.7
"""Share of the arguments' fit in how sure a function is."""
FIRST = "first"
OFTEN_NOUNS = frozenset(map(stem, ("list", "order", "check", "show", "look")))
"""Verbs in functions' names that are as often nouns."""
OF_VERB = 1.6
"""Weight of the verb that a clause begins with."""
TAKES, MEANT = 0.2, 0.1
"""More for a function that takes an id in the clause, or what `this loan` is."""
AND = frozenset(("and", "then", "also", "after"))
ELLIPTIC = 0.5
"""Match of a clause that says only other values, and of one that certainly says more."""
PRONOUNS = frozenset(("it", "them", "its"))
OF_BEFORE = 0.35
"""Weight of a word of the clause before, for which a pronoun stands."""
LIGHT = stem_set("put make give get take set let have do go tell show want need find look")
OF_LIGHT, UNKNOWN = 0.6, 0.35
"""Share of the weight of a verb that means many things, and of a word that no document has."""
OTHER_OBJECT = 0.75
"""How much is left of the match of a function about something else than the clause, by their nouns."""
NO_ORDER = 0.8
"""How much is left of the match of a clause that says how things are, beside one that says what to do."""
OTHER_VERB = 0.5
"""How much is left of a match of the user's verb with a word that is not what the function does."""
OTHER_ROLE = 0.35
"""How much is left of a match of a verb with a noun."""
NOT_A_LOOK = 0.6
"""How much is left of the match of a function that changes something, where the user wants to look for something."""
ALIKE = 0.15
"""A function that explains a clause nearly as well as the best one serves it, too."""
COVERING_ALL = 0.2
"""What a function's score gains from using the values of the whole request."""


class ToolChoice(NamedTuple):
    """A function for a clause.

    Attributes:
        tool: The function.
        match: Share of the clause's words that it explains.
        score: Its match, and how well its arguments fit.
        plan: The next call on the way to it; None if something is missing that nothing returns.
        missing: What is missing then.
        binding: Its own call, as far as its arguments are known.
    """

    tool: Tool
    match: float
    score: float
    plan: Binding | None
    missing: tuple[Parameter, ...] = ()
    binding: Binding | None = None

    @property
    def sureness(self) -> float:
        """How much speaks for it: the words, and the arguments of the next call. 0 to about 2."""
        return self.match + OF_ARGUMENTS * min(1.0, self.plan.fit) if self.plan is not None else 0.0


class RequestGoal(NamedTuple):
    """A thing that the request asks for.

    Attributes:
        clause: The clause that says it.
        wishes: Functions for it, the best first.
        is_served: Whether it has been called in this turn.
    """

    clause: Clause
    wishes: tuple[ToolChoice, ...]
    is_served: bool = False

    @property
    def best(self) -> ToolChoice:
        """The best function for it."""
        return self.wishes[0]


def match(at: Dialogue, clause: Clause, tool: Tool) -> float:
    """Return the share of a clause's words that a function's document explains, 0 to 1, rare words counting more."""
    found: float = at.once(("match", clause.place, tool.name), lambda: _match(at, clause, tool))
    return found


def _match(at: Dialogue, clause: Clause, tool: Tool) -> float:
    explained = total = 0.0
    spans = {stem(word) for one in clause.mentions if one.kind == "span" for word in words(str(one.value))}
    asks = clause.asks
    for word, share, role in _weighted(at, clause):
        weight = share * at.known.weight(word)
        if word in spans:
            weight *= 0.25
        elif not at.known.knows(word):
            weight *= UNKNOWN
        if word in LIGHT:
            weight *= OF_LIGHT
        total += weight
        explained += weight * tool.match(word, asks=asks) * _role_fit(tool, word, role)
    if clause.asks and not tool.only_looks:
        explained *= NOT_A_LOOK
    nouns = {word for word, role in clause.roles if role == NOUN}
    if nouns & at.known.objects and not any(near(word) & tool.objects for word in nouns):
        explained *= OTHER_OBJECT
    if not clause.is_order and any(one.is_order for one in at.clauses):
        explained *= NO_ORDER
    if clause.verb in LOOKING and not tool.only_looks:
        explained *= NOT_A_LOOK
    return explained / total if total else 0.0


def _weighted(at: Dialogue, clause: Clause) -> Iterator[tuple[str, float, str]]:
    """Yield a clause's stems with their shares and roles; `it` and `them` stand for what the clause before is about."""
    yield from ((word, OF_VERB if role == VERB else 1.0, role) for word, role in clause.roles)
    if clause.place and set(clause.words) & PRONOUNS:
        own = set(clause.stems)
        before = at.clauses[clause.place - 1]
        yield from ((word, OF_BEFORE, role) for word, role in before.roles if word not in own and role != VERB)


def _role_fit(tool: Tool, word: str, role: str) -> float:
    """Return less for a word that is a noun here and the verb in the function's name, or the other way round."""
    if role == NOUN and tool.verb == word and word in OFTEN_NOUNS:
        return OTHER_ROLE
    if role == VERB and tool.verb != word and tool.weights.get(word, 0.0) == IN_NAME:
        return OTHER_ROLE
    if role == VERB and not near(word) & {tool.verb, tool.does}:
        return OTHER_VERB
    return 1.0


def goals_of(at: Dialogue) -> tuple[RequestGoal, ...]:
    """Return the goals of the request, in the order in which they are to be served."""
    found: list[RequestGoal] = []
    for clause in at.clauses:
        if clause.is_negated and not clause.mentions:
            continue
        wishes = tuple(wishes_of(at, clause))
        if found and _is_elliptic(clause, wishes):
            wishes = tuple(_again(at, clause, found[-1].best.tool)) or wishes
        if wishes:
            found.append(RequestGoal(clause, wishes))
    found = _merged(_strong(at, _elsewhere(found)))
    found.sort(key=lambda goal: FIRST not in goal.clause.words)
    return tuple(_with_served(at, found))


def _is_elliptic(clause: Clause, wishes: Sequence[ToolChoice]) -> bool:
    """Whether a clause only names other values for what the clause before asks for."""
    goes_on = bool(clause.mentions) and bool(clause.words[:1]) and clause.words[0] in AND
    return goes_on and (not wishes or wishes[0].match < ELLIPTIC)


def _again(at: Dialogue, clause: Clause, tool: Tool) -> Iterator[ToolChoice]:
    """Yield the function of the clause before, for one that only names other values."""
    wish = _wish(at, clause, tool, ELLIPTIC)
    own = wish.binding is not None and any(one.clause == clause.place for one in wish.binding.mentions)
    if wish.plan is not None and wish.plan.tool.name == tool.name and own:
        yield wish


def is_unsure(at: Dialogue, left: Sequence[RequestGoal]) -> bool:
    """Whether no function fits well and nothing has been called in this turn, so that there may be none."""
    return bool(left) and not at.worked and max(goal.best.sureness for goal in left) < LEAST_SURE


def wishes_of(at: Dialogue, clause: Clause) -> Iterator[ToolChoice]:
    """Yield the functions that a clause may ask for, the best first."""
    scored = []
    for tool in at.known.tools.values():
        share = match(at, clause, tool)
        if share > 0.0 or clause.mentions:
            share += _taking(at, clause, tool)
        share += NEWLY * (tool.name in at.newly_offered and at.is_pending and share > 0.0)
        scored.append((share, tool))
    scored.sort(key=lambda one: -one[0])
    found = []
    for share, tool in scored[:8]:
        if share < LEAST_MATCH:
            break
        wish = _wish(at, clause, tool, share)
        found.append(wish)
    yield from sorted(found, key=lambda one: -one.score)[:4]


def _taking(at: Dialogue, clause: Clause, tool: Tool) -> float:
    """Return more for a function that takes the ids in a clause, or an id of what the clause points to."""
    names = {one.name for one in tool.required}
    owners = {at.id_shapes.get(shape_of(str(one.value))) for one in clause.mentions if one.kind == "id"}
    found = TAKES * bool(owners & names)
    text = words(clause.text)
    pointed = {stem(word) for before, word in pairwise(text) if before in ("this", "that", "same")}
    if any(one.is_id and set(one.name_stems) & pointed for one in tool.required):
        found += MEANT
    return found


def _wish(at: Dialogue, clause: Clause, tool: Tool, share: float) -> ToolChoice:
    ways = bindings(at, tool, clause)
    if not ways:
        return ToolChoice(tool, share, share - INCOMPLETE, None, tool.required)
    best = ways[0]
    plan: Binding | None = best
    missing = best.missing
    if best.missing:
        plan, missing = _chain(at, best, clause, DEPTH, {tool.name})
    solid = [one for one in clause.mentions if one.kind in SOLID]
    used = {(one.start, one.end) for way in (best, *([plan] if plan else [])) for one in way.mentions}
    covered = sum((one.start, one.end) in used for one in solid) / len(solid) if solid else 0.5
    fit = best.fit if best.is_complete else max(0.3, best.found_fit)
    every = [one for one in at.mentions if one.kind in SOLID]
    of_all = sum((one.start, one.end) in used for one in every) / len(every) if every else 0.5
    score = share + FITTING * fit + COVERING * covered + COVERING_ALL * of_all - (INCOMPLETE if plan is None else 0.0)
    return ToolChoice(tool, share, score, plan, missing, best)


def _chain(
    at: Dialogue, wanted: Binding, clause: Clause, depth: int, above: set[str]
) -> tuple[Binding | None, tuple[Parameter, ...]]:
    """Return the next call that gets what a call lacks, or None and what can't be got."""
    first: Binding | None = None
    for one in wanted.missing:
        way = _producer(at, wanted, one, clause, depth, above)
        if way is None:
            return None, (one,)
        first = first or way
    return first, ()


def _producer(
    at: Dialogue, wanted: Binding, one: Parameter, clause: Clause, depth: int, above: set[str]
) -> Binding | None:
    """Return the best call of a function that returns what a parameter takes."""
    if depth == 0 or one.choices or not _may_be_looked_up(at, one, clause):
        return None
    used = {(mention.start, mention.end) for mention in wanted.mentions}
    best: tuple[float, Binding] | None = None
    for tool in at.known.tools.values():
        if tool.name in above:
            continue
        link = _link(at, one, tool)
        if link < LEAST_LINK:
            continue
        for way in bindings(at, tool, None)[:2]:
            call: Binding | None = way
            if way.missing:
                call, _ = _chain(at, way, clause, depth - 1, above | {tool.name})
            if call is None or _was_made(at, call):
                continue
            if _is_open(at, one) and not call.mentions:
                continue
            fresh = sum((mention.start, mention.end) not in used for mention in call.mentions)
            told = max((match(at, part, tool) for part in at.clauses), default=0.0)
            score = link + 0.5 * min(1.2, way.fit) + 0.4 * told + 0.3 * bool(fresh) - 0.15 * (len(way.missing) > 0)
            if best is None or score > best[0]:
                best = (score, call)
    return best and best[1]


def _link(at: Dialogue, one: Parameter, tool: Tool) -> float:
    """Return how well what a function returns is what a parameter takes."""
    key, links = (f"{one.owner}.{one.name}", tool.name), at.known.links
    if key not in links:
        links[key] = max((returned_match(one, part, frozenset()) for part in tool.returns), default=0.0)
        if tool.returns and converts_to(one, tool):
            links[key] = max(links[key], CONVERTED)
    found: float = links[key]
    return found


def _may_be_looked_up(at: Dialogue, one: Parameter, clause: Clause) -> bool:
    """Whether a value may come from a function: an id may, and another one if the user refers to a result."""
    if one.is_id or one.is_mail:
        return True
    if one.kind in ("number", "whole") and any(is_of_other_unit(at, one, mention) for mention in at.mentions):
        return True
    return bool(set(words(at.request)) & TAKEN_OVER) and one.kind in ("text", "number", "whole")


def _is_open(at: Dialogue, one: Parameter) -> bool:
    """Whether the user leaves open which one is meant, so that only the user can say."""
    return is_indefinite(one, at.request)


def _was_made(at: Dialogue, call: Binding) -> bool:
    return any(one.name == call.tool.name and one.arguments == call.arguments for one in at.now)


def _elsewhere(goals: Sequence[RequestGoal]) -> list[RequestGoal]:
    """Prefer, for a clause without values, a function that no clause with values asks for, if it is nearly as good."""
    had = {goal.best.tool.name for goal in goals if any(one.kind in SOLID for one in goal.clause.mentions)}
    found = []
    for goal in goals:
        if not any(one.kind in SOLID for one in goal.clause.mentions):
            wishes = sorted(goal.wishes, key=lambda wish: -wish.score + AGAIN * (wish.tool.name in had))
            goal = goal._replace(wishes=tuple(wishes))
        found.append(goal)
    return found


AGAIN = 0.12


def _strong(at: Dialogue, goals: Sequence[RequestGoal]) -> list[RequestGoal]:
    """Leave out goals that can't be reached and that other goals do not need."""
    if any(goal.best.plan is not None for goal in goals):
        sure = max(goal.best.score for goal in goals if goal.best.plan is not None)
        return [
            goal
            for goal in goals
            if goal.best.plan is not None or (goal.best.match >= 0.5 and goal.best.score + INCOMPLETE > sure)
        ]
    return list(goals)


def _merged(goals: Sequence[RequestGoal]) -> list[RequestGoal]:
    """Make one of goals that ask for the same call twice: the later one has no values of its own."""
    found: list[RequestGoal] = []
    for goal in goals:
        place = next((n for n, one in enumerate(found) if one.best.tool.name == goal.best.tool.name), None)
        has_own = any(one.kind in SOLID for one in goal.clause.mentions)
        if place is None or (has_own and _differ(found[place], goal)):
            found.append(goal)
        elif (goal.best.score, 0) > (found[place].best.score, 0):
            found[place] = goal
    return found


def _differ(one: RequestGoal, other: RequestGoal) -> bool:
    """Whether two goals of one function use different values."""
    first, second = one.best.binding, other.best.binding
    if first is None or second is None:
        return False
    had = {(mention.start, mention.end) for mention in (*first.mentions, *(one.best.plan or first).mentions)}
    own = [mention for mention in second.mentions if mention.clause == other.clause.place]
    return any((mention.start, mention.end) not in had for mention in own)


def _with_served(at: Dialogue, goals: Sequence[RequestGoal]) -> Iterator[RequestGoal]:
    left = [call.name for call in at.worked]
    for goal in goals:
        near_ones = [wish.tool.name for wish in goal.wishes if wish.match >= goal.best.match - ALIKE]
        served = next((name for name in near_ones if name in left), None)
        if served is not None:
            left.remove(served)
        plan = goal.best.plan
        made = [(one.name, one.arguments) for one in at.worked]
        is_made = plan is not None and (plan.tool.name, plan.arguments) in made
        yield goal._replace(is_served=served is not None or is_made)
