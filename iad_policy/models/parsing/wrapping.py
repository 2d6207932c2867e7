"""Removes what a model puts around a whole answer: one matching pair of quotes, backticks or emphasis."""

_PAIRS = (
    ("``", "``"),
    ("`", "`"),
    ('"', '"'),
    ("'", "'"),
    ("“", "”"),
    ("‘", "’"),
    ("«", "»"),
    ("「", "」"),
    ("**", "**"),
    ("*", "*"),
)
_QUOTES = ('"', "'")
_PATH_STARTS = ("$", "/", ".", "~")
_ENDS = ".!,;。！，；"


def unwrapped(text: str, *, is_shell: bool = False) -> str:
    """Return a text without the pairs around it.

    A pair is removed only if it begins and ends the text and its mark isn't inside the text again, except escaped. In a
    shell, quotes around a path belong to the command.
    """
    text = text.strip()
    for opening, closing in _PAIRS:
        if not (len(text) > len(opening + closing) and text.startswith(opening) and text.endswith(closing)):
            continue
        inner = text[len(opening) : -len(closing)]
        unescaped = inner.replace('\\"', "") if opening == '"' else inner
        if not inner.strip() or opening[0] in unescaped or closing in unescaped or unescaped.endswith("\\"):
            continue
        if opening[0] == "*" and inner != inner.strip():
            continue  # a bullet, or a pattern of file names
        if is_shell and opening in _QUOTES and inner.startswith(_PATH_STARTS):
            continue
        return unwrapped(inner.replace('\\"', '"') if opening == '"' else inner, is_shell=is_shell)
    return text


def bare_words(text: str) -> str:
    """Return a text as it is compared with listed actions: single blanks, no marks around it, no full stop."""
    text = unwrapped(text.strip().rstrip(_ENDS)).rstrip(_ENDS)
    return " ".join(text.strip("_[]()<>/ ").split())
