"""The scripter's box of command patterns, and the commands that they make of an instruction.

A pattern is a line of parts; a part is a choice of texts, the right one first and hasty ones after it. `{dir}`, `{file}` and
so on are filled with what the instruction names; a pattern whose blanks can't be filled is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, product
from string import Formatter
from typing import NamedTuple

from iad_policy.shell import Errand

MAX_PLANS_PER_PATTERN = 64
TYPE = (" -type f", "")
NAMED = (" -name '*.{ext}'", " -name '*{ext}*'", " -name '{ext}'")


class Pattern(NamedTuple):
    """A kind of command.

    Attributes:
        name: For thoughts.
        calls: Words of an instruction that call for it.
        clashes: Words that speak against it.
        parts: Choices of texts, joined without blanks.
    """

    name: str
    calls: frozenset[str]
    clashes: frozenset[str]
    parts: Sequence[Sequence[str]]


class Plan(NamedTuple):
    """A command, and how it was put together.

    Attributes:
        command: For the shell.
        pattern: Name of its pattern.
        fit: How well the pattern's words fit the instruction: larger is better.
        choices: Which text of each part was taken.
        odds: For each part with a choice, whether a wrong text was taken, and of how many texts.
    """

    command: str
    pattern: str
    fit: float
    choices: tuple[int, ...]
    odds: tuple[tuple[bool, int], ...]

    @property
    def slips(self) -> Sequence[int]:
        """The parts where a wrong text was taken."""
        return [place for place, choice in enumerate(self.choices) if choice]

    def is_near(self, other: "Plan") -> bool:
        """Say whether it is the same pattern with one part different."""
        if self.pattern != other.pattern or len(self.choices) != len(other.choices):
            return False
        return sum(mine != its for mine, its in zip(self.choices, other.choices, strict=True)) == 1


def _pattern(name: str, calls: str, *parts: str | Sequence[str], not_: str = "") -> Pattern:
    choices = [(part,) if isinstance(part, str) else part for part in parts]
    return Pattern(name, frozenset(calls.split()), frozenset(not_.split()), choices)


PATTERNS = (
    _pattern("count files", "many count number files file ending", "find {dir}", TYPE, NAMED, (" | wc -l", ""), not_="lines with line column together"),
    _pattern("list files", "list find show print paths path files file ending where", "find {dir}", TYPE, NAMED, not_="many count number delete copy move lines replace contain with execute executable"),
    _pattern("count lines", "many count lines number just only", "wc -l", (" < {file}", " {file}"), not_="files together different column total contain"),
    _pattern("matching lines", "print show search lines line contain matching with every", "grep", ("", " -c", " -n"), " '{word}' {file}", not_="many files which first last field column count each"),
    _pattern("first lines", "first top begins show print display lines", "head", (" -n {n}", "", " -c {n}"), " {file}", not_="largest files frequent"),
    _pattern("last lines", "last final ends show print display lines", "tail", (" -n {n}", "", " -n +{n}"), " {file}", not_="largest files modified"),
    _pattern("new folder", "create make folder directory empty put called first", ("mkdir -p {new} && ", "mkdir {name} && ", ""), "touch {new}/{name}", not_="copy move copies"),
    _pattern("copy file", "copy put into folder", "cp {file}", (" {folder}", " ."), not_="all every new"),
    _pattern("move file", "move into folder over take out", "mv {file}", (" {folder}", " ."), not_="all every new larger bigger"),
    _pattern("delete files", "delete remove all every files rid ending", "find {dir}", TYPE, NAMED, (" -delete", " -exec ls {{}} +"), not_="except but keep only everything"),
    _pattern("executable", "executable owner execute run permission script", "chmod", (" u+x", " +x", " 644"), " {file}", not_="all every files each"),
    _pattern("files with", "which files contain list path each occurs have", "grep", (" -rl", " -r", " -l"), " '{word}' {dir}", not_="lines many not no never do column"),
    _pattern("empty files", "empty zero length list find files which", "find {dir}", TYPE, (" -empty", " -size 1c"), not_="create put folder"),
    _pattern("larger files", "larger bigger more than bytes list find files which", "find {dir}", TYPE, (" -size +{n}c", " -size +{n}", " -size +{n}k"), not_="move largest biggest"),
    _pattern("lines of all", "many lines all together total number one count files", ("find {dir} -type f -name '*.{ext}' -exec cat {{}} + | wc -l", "find {dir} -type f -name '*.{ext}' -exec wc -l {{}} +", "cat {dir}/*.{ext} | wc -l", "find {dir} -type f -exec cat {{}} + | wc -l"), not_="contain with column"),
    _pattern("distinct values", "many different distinct unique count number values entries column header", ("tail -n +2 {file}", "cat {file}"), (" | cut -d, -f{n}", " | cut -f{n}"), (" | sort -u", " | uniq", ""), " | wc -l", not_="list each sorted rows lines"),
    _pattern("list values", "list different distinct unique values entry column sorted header each once show", ("tail -n +2 {file}", "cat {file}"), (" | cut -d, -f{n}", " | cut -f{n}"), (" | sort -u", " | sort", " | uniq"), not_="many count number rows"),
    _pattern("column sum", "add sum total numbers values column up", "awk -F, '", ("NR > 1 {{ s += ${n} }}", "{{ s = ${n} }}"), " END {{ print ", ("s", "NR"), " }}' {file}", not_="rows many lines different"),
    _pattern("most frequent", "most frequent common often value column count occurs", ("tail -n +2 {file}", "cat {file}"), (" | cut -d, -f{n}", ""), (" | sort | uniq -c", " | uniq -c"), (" | sort -rn", " | sort -n"), " | head -n 1", not_="rows"),
    _pattern("rows where", "many rows count lines column equals is whose where", ("cut -d, -f{n} {file} | grep -cx '{word}'", "grep -c '{word}' {file}", "cut -d, -f{n} {file} | grep '{word}'", "grep -cx '{word}' {file}"), not_="together different"),
    _pattern("copy kind", "copy copies all every new folder create make directory put", ("mkdir -p {new} && ", ""), "find {olddir}", TYPE, NAMED, (" -exec cp -t {new} {{}} +", " -exec mv -t {new} {{}} +"), not_="move larger"),
    _pattern("move large", "move larger more than bytes bigger new folder create take every", ("mkdir -p {new} && ", ""), "find {olddir}", TYPE, (" -size +{n}c", " -size +{n}", " -size +{n}k"), (" -exec mv -t {new} {{}} +", " -exec cp -t {new} {{}} +"), not_="copy"),
    _pattern("replace word", "replace change substitute all every files by to", "find {dir}", TYPE, (" -name '*.{ext}'", "", " -name '{ext}'"), (" -exec sed -i 's/{word}/{other}/g' {{}} +", " -exec sed 's/{word}/{other}/g' {{}} +", " -exec sed -i 's/{other}/{word}/g' {{}} +")),
    _pattern("delete others", "delete remove all everything except but keep only other", "find {dir}", TYPE, (" ! -name '*.{ext}'", " -name '*.{ext}'", ""), (" -delete", "")),
    _pattern("largest files", "largest biggest most bytes sizes size files which", "find {dir} -type f", (" -exec du -b {{}} +", " -exec du {{}} +", " -exec ls -s {{}} +"), (" | sort -rn", " | sort -n", " | sort -r"), (" | head -n {n}", ""), not_="frequent column"),
    _pattern("count matches", "many lines with together total contain count number one over files", ("grep -rh '{word}' {dir} --include='*.{ext}' | wc -l", "grep -rc '{word}' {dir} --include='*.{ext}'", "grep -rl '{word}' {dir} --include='*.{ext}' | wc -l", "grep -rh '{word}' {dir} | wc -l"), not_="column"),
    _pattern("files without", "which files not no never do contain occurs list path", "grep", (" -rL", " -rLv", " -rv", " -rl"), " '{word}' {dir}", not_="lines many modified changed"),
    _pattern("unique to file", "write save lines sorted duplicates without repeated distinct drop create result", ("sort -u {file}", "sort {file}", "uniq {file}"), (" > {target}", ""), not_="column"),
    _pattern("repeated lines", "lines occur more than once repeated duplicates duplicated each show print", ("sort {file} | ", ""), ("uniq -d", "uniq -D", "uniq -c"), ("", " {file}"), not_="column write save"),
    _pattern("field of matches", "field colons colon separated lines contain with sorted take", "grep '{word}' {file}", (" | cut -d: -f{n}", " | cut -f{n}"), (" | sort", ""), not_="many"),
    _pattern("older files", "modified before older than changed since last list find files", "find {dir}", TYPE, (" ! -newermt {date}", " -newermt {date}", " -mtime +{n}")),
    _pattern("protect kind", "executable owner execute run permission all every each files", "find {dir}", TYPE, NAMED, (" -exec chmod u+x {{}} +", " -exec chmod 644 {{}} +")),
)  # fmt: skip


@lru_cache(maxsize=1024)
def plans_for(errand: Errand) -> Sequence[Plan]:
    """Return every command that the patterns make of an instruction, each once."""
    blanks = _blanks(errand)
    plans: dict[str, Plan] = {}
    for pattern in PATTERNS:
        fit = len(errand.words & pattern.calls) - 2.0 * len(errand.words & pattern.clashes)
        for plan in islice(_made(pattern, blanks, fit), MAX_PLANS_PER_PATTERN):
            plans.setdefault(plan.command, plan)
    return tuple(plans.values())


def _made(pattern: Pattern, blanks: Mapping[str, str], fit: float) -> Iterator[Plan]:
    for choices in product(*(range(len(part)) for part in pattern.parts)):
        text = "".join(part[choice] for part, choice in zip(pattern.parts, choices, strict=True))
        if {name for _, name, _, _ in Formatter().parse(text) if name} <= blanks.keys():
            pairs = zip(pattern.parts, choices, strict=True)
            odds = tuple((choice > 0, len(part)) for part, choice in pairs if len(part) > 1)
            yield Plan(text.format(**blanks), pattern.name, fit, choices, odds)


def _blanks(errand: Errand) -> dict[str, str]:
    """What the instruction has to fill the blanks with; it is no wiser than the order of its words."""
    files = [path for path in errand.paths if "." in path.rpartition("/")[2]]
    folders = [path for path in errand.paths if path not in files]
    found = {
        "dir": folders[:1],
        "file": files[:1],
        "folder": folders[-1:],
        "new": _new_folder(errand, folders),
        "olddir": [folder for folder in folders if folder not in _new_folder(errand, folders)][:1],
        "target": [path for path in files[::-1] if "create" in errand.words][-1:] or files[1:2],
        "ext": errand.endings[:1],
        "word": errand.quoted[:1],
        "other": errand.quoted[1:2],
        "name": errand.quoted[:1],
        "n": errand.numbers[:1],
        "date": [errand.date] if errand.date else [],
    }
    return {name: values[0] for name, values in found.items() if values}


def _new_folder(errand: Errand, folders: Sequence[str]) -> Sequence[str]:
    """The folder to be made: where the sentence begins with making it the first, else the last."""
    return folders[:1] if errand.words & {"create", "make"} else folders[-1:]
