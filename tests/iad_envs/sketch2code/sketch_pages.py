"""A small data folder in the official layout, made for tests."""

from pathlib import Path

PAGE = (
    "<!DOCTYPE html><html><head><title>{title}</title><style>body{{margin:0;font:16px/20px sans-serif}}</style></head>"
    '<body><nav style="height:50px">Menu</nav><h1>{title}</h1><img src="rick.jpg" style="width:{width}px;height:200px">'
    "<p>Some words about it.</p><form style='width:300px;height:80px'><button>Send</button></form></body></html>"
)
GIF = bytes.fromhex("4749463839610100010080000000000000000021f90401000000002c00000000010001000002024401003b")
TITLES = ("Tea", "Coffee", "Cake", "Bread")


def make_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for place, title in enumerate(TITLES):
        (folder / f"{place + 1}.html").write_text(PAGE.format(title=title, width=200 + 100 * place), encoding="utf-8")
    (folder / "rick.jpg").write_bytes(GIF)
    return folder
