"""Pictures of products: drawn, the same every time, and harmless."""

import re
from pathlib import Path
from xml.etree import ElementTree

from tests.webshop_server.small_shop import RECORDS, record, write_folder
from webshop_server.catalog import Product, load_catalog
from webshop_server.site.pictures import _drawings, picture, shape_of


def products(tmp_path: Path, **fields: str) -> list[Product]:
    return list(load_catalog(write_folder(tmp_path, [record("B000THING1", "Thing", **fields), *RECORDS])))


def test_every_drawing_is_a_picture_that_loads_nothing_and_every_word_and_category_leads_to_one() -> None:
    drawings = _drawings()
    places = {"d", "x", "y", "rx", "ry", "cx", "cy", "r", "width", "height"}
    strokes = {"fill", "stroke", "stroke-width", "stroke-linecap", "stroke-dasharray"}
    for shape, body in drawings["shapes"].items():
        body = body.replace("MAIN", "#000").replace("DARK", "#000").replace("LIGHT", "#000")
        tree = ElementTree.fromstring(f"<g>{body}</g>")
        assert {element.tag for element in tree.iter()} <= {"g", "path", "rect", "circle"}, shape
        assert {name for element in tree.iter() for name in element.attrib} <= places | strokes, shape
    assert {shape for _, shape in drawings["words"]} | set(drawings["categories"].values()) <= set(drawings["shapes"])
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in (*drawings["colours"].values(), *drawings["tints"]))
    assert set(drawings["own_colours"]) <= set(drawings["colours"])


def test_a_picture_is_the_same_every_time_and_takes_the_chosen_colour(tmp_path: Path) -> None:
    one, other = products(tmp_path)[0], products(tmp_path)[0]
    assert picture(one) == picture(other)
    red = _drawings()["colours"]["red"]
    assert red in picture(one, "dark red")
    assert picture(one, '"><script>') == picture(one)
    assert len({picture(product) for product in products(tmp_path)}) > 12
    for fields, shape in (
        ({"query": "hdmi cables"}, "cable"),
        ({"query": "something new", "category": "grocery"}, "pouch"),
        ({"query": "something new", "category": "unheard of"}, "box"),
    ):
        assert shape_of(products(tmp_path, **fields)[0]) == shape
