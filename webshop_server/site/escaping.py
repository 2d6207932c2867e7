"""Escapes free text for URL paths.

It is escaped twice, so that browsers and servers never read its slashes, dots or blanks as part of the path.
"""

from urllib.parse import quote, quote_plus, unquote_plus


def escaped(text: str) -> str:
    """Escape any text for a URL path. Words are joined by "+"."""
    once = quote_plus(text, errors="surrogatepass").replace(".", "%2E")
    return quote(once, safe="+")


def unescaped(part: str) -> str:
    """Return the text of a path segment that the server has unescaped once."""
    try:
        return unquote_plus(part, errors="surrogatepass")
    except UnicodeDecodeError:
        return unquote_plus(part, errors="replace")
