"""A small data folder in the official layout, made for tests."""

from pathlib import Path

PAGE = (
    "<!DOCTYPE html><html><head><title>{title}</title><style>body{{margin:0;font:16px/20px sans-serif}}</style></head>"
    '<body><nav style="height:50px">Menu</nav><h1>{title}</h1><img src="rick.jpg" style="width:{width}px;height:200px">'
    "<p>Some words about it.</p><form style='width:300px;height:80px'><button>Send</button></form></body></html>"
)
GIF = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00"
    b"\x01\x00\x00\x02\x02D\x01\x00;"
)
TITLES = ("Tea", "Coffee", "Cake", "Bread")


def make_folder(folder: Path) -> Path:
    """Write four pages without sketches: the sketcher draws them."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, title in enumerate(TITLES):
        (folder / f"{place + 1}.html").write_text(PAGE.format(title=title, width=200 + 100 * place), encoding="utf-8")
    (folder / "rick.jpg").write_bytes(GIF)
    return folder
