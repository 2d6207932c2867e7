"""English words in a form in which two of them can be compared: stems, near synonyms, and words that say little."""

import re
from collections.abc import Sequence
from functools import lru_cache

WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?|\d+(?:\.\d+)?")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_IRREGULAR = {
    "lent": "lend", "sent": "send", "paid": "pay", "wrote": "write", "written": "write", "bought": "buy",
    "sold": "sell", "made": "make", "kept": "keep", "told": "tell", "gave": "give", "given": "give", "went": "go",
    "took": "take", "taken": "take", "left": "leave", "lost": "lose", "met": "meet", "sown": "sow",
    "grew": "grow", "grown": "grow", "knew": "know", "known": "know", "said": "say", "saw": "see", "seen": "see",
    "spent": "spend", "flew": "fly", "flown": "fly", "rose": "rise", "drew": "draw", "drawn": "draw",
    "ran": "run", "built": "build", "people": "person", "children": "child", "feet": "foot", "mice": "mouse",
    "taking": "take", "making": "make", "having": "have", "moist": "moisture", "warm": "warmth",
    "humid": "humidity", "weighs": "weight", "weigh": "weight", "percentage": "percent", "insurance": "insure",
    "delivery": "deliver", "arrival": "arrive", "departure": "depart", "departures": "depart", "payment": "pay",
    "owed": "owe", "owes": "owe", "owing": "owe", "payments": "pay", "unpaid": "pay", "removal": "remove",
}  # fmt: skip
_SUFFIXES = (
    ("ations", ""),
    ("ation", ""),
    ("ings", ""),
    ("ing", ""),
    ("ied", "y"),
    ("ies", "y"),
    ("ed", ""),
    ("es", ""),
)
_SHORTEST_STEM = 3


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text that are parted by blanks."""
    return frozenset(text.split())


STOP = word_set(
    "a an the this that these those it its they them their there here he she his her him i me my mine we us our you"
    " your is are was were be been being am do does did done has have had having will would shall should can could"
    " may might must of to in on at by for from with without into onto out up off over under than then as so and or"
    " but if not no nor please also too just only now again all any some each every one two both either another"
    " other same such what which who whom whose when where why how much many more most less least very really still"
    " yet ever never s t ll d let lets need needs want wants like likes thing things somebody someone something"
    " anybody anyone anything third somewhere supposed anew once first second fine good great thank thanks sorry yes"
    " okay ok well there's it's i'm i'd don't about between among after before while during until till because since"
    " though exactly nothing else enough possible"
)
"""Words that say nothing about which function is wanted."""
COMMON = word_set(
    "go goes get gets give gives put puts take takes make makes look looks find finds tell tells show shows know"
    " see say says use using used keep keeps come comes leave leaves work works ask asks think mean means call calls"
    " called try begin begins start starts end ends set sets bring brings change changes check checks open opens"
    " read reads write writes send sends add adds lend borrow borrows book return returned pay pays paid owe owes"
    " owed renew move moves moved remove delete deleted cancel drop list search label tag draft answer reply convert"
    " count counts water sow plant grow grows heat transplant insure track create save saved prepare buy sell order"
    " report record place live lives stand stands back away down home today tonight tomorrow yesterday currently"
    " moment time times long longer short usual normal standard default regular new old whole full empty blank right"
    " wrong next last free ready ripe dry moist warm humid unpaid valuable worth far high low big small able sure"
    " question help information details data own way kind sort part parts piece pieces name names number numbers"
    " amount value values total sum result text title word words line id ids date dates day days week weeks month"
    " months year years hour hours minute minutes degrees percent price cost costs copy person people user member"
    " thing mind minds hello hi dear happy provide include including based regarding given calculate compute"
    " determine estimate fetch retrieve interested looking going trying planning want wanted needed supposed"
    " possible available current latest recent favourite together several few lot lots bit around near within across"
    " against per via whether however let's later early earlier soon already outside inside instead certain"
    " different similar same various specific"
)
"""Words that are no values by themselves, such as a species, a place or a thing."""

_VERBS_OF_TWO: Sequence[tuple[str, str, str]] = (
    ("writes?|wrote", "back", "reply"),
    ("looks?|looked|looking", "up|for", "find"),
    ("calls?|called", "off", "cancel"),
    ("picks?|picked", "up", "pickup"),
    ("works?|worked", "out", "calculate"),
    ("adds?|added", "up", "sum"),
    ("takes?|took|taken", "back", "return back"),
    ("hands?|handed", "in", "return"),
    ("comes?|came", "back", "return"),
    ("checks?|checked", "out", "borrow"),
    ("finds?|found", "out", "find"),
    ("puts?", "off", "postpone"),
    ("sets?", "up", "create"),
    ("gets?", "rid", "remove"),
    ("fills?", "in", "write"),
    ("turns?|turned", "on", "activate"),
    ("turns?|turned", "off", "deactivate"),
    ("goes|go|going", "to", "go"),
)
"""Verbs of two words, also with up to three words between them, and the verb that says the same."""
_SYNONYMS = (
    "find search look locate seek lookup query", "list show display see view",
    "make create new build generate start", "remove delete erase", "cancel revoke withdraw drop",
    "lend borrow checkout", "renew extend longer prolong", "queue wait waitlist reserve reserv",
    "price cost quote fare charge fee expensive", "pay settle owe bill", "mail email message",
    "reply answer respond", "draft prepare compose", "open read enter", "open enter go visit", "write keep note",
    "save keep store", "folder directory", "add append put", "move transfer relocate",
    "pickup fetch collect pick", "track far locate status", "kg kilogram kilo", "km kilometre kilometer",
    "temperature degree warmth heat hot cold celsiu fahrenheit", "worth value valuable", "inspect check examine",
    "water moisture", "return back", "sum total add", "mean average", "picture photo image frame", "begin start",
    "move transplant", "name call", "person people", "word mention", "harvest reap",
    "climate temperature humidity", "zone area", "set change adjust", "date day", "buy purchase order",
    "show get retrieve fetch", "compute calculate determine", "length distance", "repair mend fix",
    "remind reminder", "city town", "member person", "litre liter", "metre meter", "sell sold", "report tell",
    "buyer customer client", "contact person",
)  # fmt: skip
"""Words of one line may stand for one another."""


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """Return a word without its ending: `transplanting` and `transplanted` have one stem."""
    word = word.lower().removesuffix("'s").removesuffix("'")
    word = _IRREGULAR.get(word, word)
    for suffix, other in _SUFFIXES:
        short = word.removesuffix(suffix)
        if short != word and len(short) >= _SHORTEST_STEM:
            word = short + other
            if len(word) > _SHORTEST_STEM and word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
            break
    else:
        if word.endswith("s") and len(word) > _SHORTEST_STEM and word[-2] not in "su":
            word = word[:-1]
    return word.removesuffix("e") if len(word) > _SHORTEST_STEM else word


def stem_set(text: str) -> frozenset[str]:
    """Return the stems of words that are parted by blanks."""
    return frozenset(map(stem, text.split()))


@lru_cache(maxsize=4096)
def stems(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words that say something, in order. Names such as `find_books` are cut up."""
    return tuple(stem(word) for word in words(text) if word not in STOP)


def plainly(text: str) -> str:
    """Return a text with verbs of two words in one: `write back` is `reply`."""
    for pattern, plain in _PATTERNS:
        text = pattern.sub(plain, text)
    return text


def _pattern(verb: str, particle: str, plain: str) -> "tuple[re.Pattern[str], str]":
    between = r"(?P<between>(?: [\w'-]+){0,3}?)"
    return re.compile(rf"\b(?:{verb}){between} (?:{particle})\b", re.IGNORECASE), rf"{plain}\g<between>"


_PATTERNS = [_pattern(*one) for one in _VERBS_OF_TWO]


def words(text: str) -> list[str]:
    """Return the words of a text in small letters."""
    return [word.lower() for word in WORD.findall(_CAMEL.sub(" ", text.replace("_", " ")))]


def near(one: str) -> frozenset[str]:
    """Return the stems that may stand for a stem, itself included."""
    return _NEAR.get(one, frozenset((one,)))


def _near() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in _SYNONYMS:
        group = {stem(word) for word in line.split()}
        for one in group:
            found.setdefault(one, set()).update(group)
    return {one: frozenset(group) for one, group in found.items()}


_NEAR = _near()
