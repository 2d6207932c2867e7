"""Finds the text blocks of a page by the published method: rendering it twice with a distinct colour per text.

The page is rendered with a distinct colour for each element with text, and again with all these colours shifted.
Pixels whose colour shifts in the same way are text, and the colour identifies the element.

`text_blocks` gives the page's elements their colours, in the browser. The published code reads the elements of the
file instead, with Beautiful Soup, and writes the colours into the file: `file_blocks`. So a text that a script makes
is in no block there, and a page that is built by a script has none.
"""

import re
import warnings
from contextlib import suppress
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from iad_envs.browser.images import Image, decoded
from iad_envs.sketch2code.layout import Box
from iad_envs.sketch2code.page import RenderedPage
from iad_envs.sketch2code.renderer import Renderer, photographed
from iad_envs.sketch2code.tab import Tab
from webshop_server.extras import extra_command

SHIFT = 50
FIRST, STEP, LEVELS = 10, 16, 16
"""Colour levels of red, green and blue: the first one, the step to the next, and their number."""
OTHER_COLOUR = -1
"""Number of a colour that no element was given. Nothing of the page has it in the one picture and not in the other."""
MAX_OPEN_TAGS = 100
"""Most `<` after the last `>` of a file. Older releases of Python read on to the end of the file for each."""

COLOUR_NAMES = frozenset(
    """
    aliceblue antiquewhite aqua aquamarine azure beige bisque black blanchedalmond blue blueviolet brown burlywood
    cadetblue chartreuse chocolate coral cornflowerblue cornsilk crimson cyan darkblue darkcyan darkgoldenrod
    darkgray darkgreen darkgrey darkkhaki darkmagenta darkolivegreen darkorange darkorchid darkred darksalmon
    darkseagreen darkslateblue darkslategray darkslategrey darkturquoise darkviolet deeppink deepskyblue dimgray
    dimgrey dodgerblue firebrick floralwhite forestgreen fuchsia gainsboro ghostwhite gold goldenrod gray green
    greenyellow grey honeydew hotpink indianred indigo ivory khaki lavender lavenderblush lawngreen lemonchiffon
    lightblue lightcoral lightcyan lightgoldenrodyellow lightgray lightgreen lightgrey lightpink lightsalmon
    lightseagreen lightskyblue lightslategray lightslategrey lightsteelblue lightyellow lime limegreen linen magenta
    maroon mediumaquamarine mediumblue mediumorchid mediumpurple mediumseagreen mediumslateblue mediumspringgreen
    mediumturquoise mediumvioletred midnightblue mintcream mistyrose moccasin navajowhite navy oldlace olive
    olivedrab orange orangered orchid palegoldenrod palegreen paleturquoise palevioletred papayawhip peachpuff peru
    pink plum powderblue purple rebeccapurple red rosybrown royalblue saddlebrown salmon sandybrown seagreen
    seashell sienna silver skyblue slateblue slategray slategrey snow springgreen steelblue tan teal thistle tomato
    turquoise violet wheat white whitesmoke yellow yellowgreen
    """.split()  # noqa: SIM905
)


class TextBlock(NamedTuple):
    """A text block: its words in lower case, its box as shares of the page, and its mean colour (0-255)."""

    text: str
    box: Box
    colour: tuple[float, float, float]


class Colours(NamedTuple):
    """The texts of a page, and the number of each text's colour."""

    texts: list[str]
    numbers: list[int]


def text_blocks(renderer: Renderer, html: str) -> tuple[RenderedPage, tuple[TextBlock, ...], Image | None]:
    """Return a page, its text blocks in order, and its picture (None if it could not be rendered)."""
    script = files(__package__).joinpath("colour.js").read_text(encoding="utf-8")

    def shots(tab: Tab, page: RenderedPage) -> tuple[Colours | None, Image, Image, Image]:
        plain = _pictured(tab, page)
        found = tab.evaluate(f"({script})(0)")
        if found is None:
            return None, plain, plain, plain
        first = _pictured(tab, page)
        tab.evaluate(f"({script})({SHIFT})")
        return Colours(*found), plain, first, _pictured(tab, page)

    page, seen = renderer.run(html, shots)
    if seen is None:
        return page, (), None
    colours, plain, first, second = seen
    if colours is None or not first.shape == second.shape == plain.shape:
        return page, (), plain
    return page, tuple(blocks_of(colours, plain, first, second)), plain


def file_blocks(
    renderer: Renderer, html: str, *, is_candidate: bool = False
) -> tuple[RenderedPage, tuple[TextBlock, ...], Image | None]:
    """Return a page, the text blocks of its file in order, and its picture (None if it could not be rendered).

    Args:
        renderer: Renderer for the page. The published one runs scripts.
        html: The file.
        is_candidate: Whether the file is first written again as it was read, with its tags closed, as candidates are.

    Raises:
        ModuleNotFoundError: Beautiful Soup is not installed. The error text says how to install it.
    """
    colours: Colours | None = None
    with suppress(UnreadableFile):
        html = str(read_file(html)) if is_candidate else html
        (first_file, colours), (second_file, _) = coloured(html, 0), coloured(html, SHIFT)
    page, plain = renderer.run(html, _pictured)
    if plain is None or colours is None:
        return page, (), plain
    (_, first), (_, second) = renderer.run(first_file, _pictured), renderer.run(second_file, _pictured)
    if first is None or second is None or first.shape != second.shape:
        return page, (), plain
    try:
        return page, tuple(blocks_of(colours, plain, first, second)), plain
    except IndexError:  # the colours made the page larger, and a text lies outside of its plain picture
        return page, (), plain


def _pictured(tab: Tab, page: RenderedPage) -> Image:
    return decoded(photographed(tab, page), "the screenshot")


def blocks_of(colours: Colours, plain: Image, first: Image, second: Image) -> list[TextBlock]:
    """Return the blocks, given three pictures of the page: plain, coloured, and with shifted colours."""
    shifted = (first.astype(np.int16) + SHIFT) % 256
    is_text = (np.abs(shifted - second) <= 8).all(axis=2)
    ys, xs = np.nonzero(is_text)
    tolerance = 4
    pixels = first[ys, xs].astype(np.int16) - (FIRST - tolerance)
    levels = pixels // STEP
    known = ((pixels >= 0) & (pixels % STEP <= 2 * tolerance)).all(axis=1)
    numbers = (levels[:, 0] * LEVELS + levels[:, 1]) * LEVELS + levels[:, 2]
    ys, xs, numbers = ys[known], xs[known], numbers[known]
    order = np.argsort(numbers, kind="stable")
    starts = np.searchsorted(numbers[order], np.arange(LEVELS**3 + 1))
    height, width = first.shape[:2]
    blocks = []
    for text, number in zip(colours.texts, colours.numbers, strict=True):
        own = order[starts[number] : starts[number + 1]] if number >= 0 else order[:0]
        if len(own):
            left, top = int(xs[own].min()), int(ys[own].min())
            wide, high = int(xs[own].max()) - left + 1, int(ys[own].max()) - top + 1
            red, green, blue = (float(int(level)) for level in plain[ys[own], xs[own]].mean(axis=0))
            box = Box(left / width, top / height, wide / width, high / height)
            blocks.append(TextBlock(text.lower(), box, (red, green, blue)))
    return blocks


class UnreadableFile(ValueError):
    """Beautiful Soup can't read a file."""


def read_file(html: str) -> Any:
    """Return a file's elements and texts as the published code reads them: a `BeautifulSoup`.

    Raises:
        UnreadableFile: It can't be read.
        ModuleNotFoundError: Beautiful Soup is not installed. The error text says how to install it.
    """
    try:
        import bs4
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "expected Beautiful Soup to read a page's file as published, found none; install it with: "
            f"{extra_command('sketch2code')}"
        ) from error
    if html.count("<", html.rfind(">") + 1) > MAX_OPEN_TAGS:
        raise UnreadableFile(f"expected an HTML file whose tags end, got one with over {MAX_OPEN_TAGS} that don't")
    with warnings.catch_warnings():  # that it looks like a path, or like XML
        for kind in (bs4.MarkupResemblesLocatorWarning, bs4.XMLParsedAsHTMLWarning):
            warnings.simplefilter("ignore", kind)
        try:
            return bs4.BeautifulSoup(html.replace("\r\n", "\n").replace("\r", "\n"), "html.parser")
        except bs4.ParserRejectedMarkup as error:
            raise UnreadableFile("expected an HTML file that html.parser can read, got another one") from error


def coloured(html: str, shift: int) -> tuple[str, Colours | None]:
    """Return the file with a colour for each element with text, and the texts of its body with their colours.

    The second value is None if there are more elements than colours.

    Args:
        html: The file.
        shift: What is added to all levels of all colours.
    """
    from bs4 import Comment, Tag

    soup = read_file(html)

    def style(element: Any, name: str, value: str) -> None:
        """Set a property. Properties whose names begin with this one are removed, as published."""
        styles = element.get("style", "").split(";")
        kept = [style for style in styles if style.strip() and not style.strip().startswith(name)]
        element["style"] = "; ".join([*kept, f"{name}: {value} !important"]).strip()

    for element in soup.find_all(True):
        style(element, "background-color", "rgba(255, 255, 255, 0.0)")
    names = (
        "p", "h1", "h2", "h3", "h4", "h5", "h6", "div", "span", "a", "b", "li", "table", "td", "th", "button",
        "footer", "header", "figcaption",
    )  # fmt: skip
    with_text = [element for element in soup.find_all(True) if element.name in names]
    if len(with_text) > LEVELS**3:
        return html, None
    for place, element in enumerate(with_text):
        number = LEVELS**3 - 1 - place
        levels = (number // LEVELS**2, number // LEVELS % LEVELS, number % LEVELS)
        style(element, "color", "#" + "".join(f"{(FIRST + STEP * level + shift) % 256:02X}" for level in levels))
        style(element, "opacity", "1.0")
    colours = Colours([], [])
    body = soup.find("body")
    if body is not None:
        numbers = {id(body): _number(body["style"], OTHER_COLOUR)}
        for node in body.descendants:
            around = numbers[id(node.parent)]
            if isinstance(node, Tag):
                numbers[id(node)] = _number(str(node["style"]), around)
            elif not isinstance(node, Comment) and node.strip():
                colours.texts.append(node.strip())
                colours.numbers.append(around)
    return str(soup), colours


def _number(style: str, inherited: int) -> int:
    """Return the number of the colour that the published code takes an element's text for.

    It takes the last property with "color" in its name, such as a border's, and the parent's colour if it can't read
    that.
    """
    styles = [one for one in style.split(";") if "color" in one and "background-color" not in one]
    if not styles:
        return inherited
    value = styles[-1].partition(":")[2].partition(":")[0].strip().replace(" !important", "")
    digits = value.lstrip("#")
    if not value.startswith("#"):
        if not value.startswith("rgb"):
            is_colour = value.lower() in COLOUR_NAMES or value.lower().startswith(("rgb", "hsl", "hsv"))
            return OTHER_COLOUR if is_colour else inherited
        rgb = re.fullmatch(r"rgb\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)", value)
        if rgb is None:
            return inherited
        digits = "".join(f"{int(level):02x}" for level in rgb.groups())
    if not re.match("[0-9a-fA-F]{6}", digits):
        return OTHER_COLOUR
    places = [divmod(int(digits[place : place + 2], 16) - FIRST, STEP) for place in (0, 2, 4)]
    if any(rest or not 0 <= place < LEVELS for place, rest in places):
        return OTHER_COLOUR
    red, green, blue = (place for place, _ in places)
    return (red * LEVELS + green) * LEVELS + blue
