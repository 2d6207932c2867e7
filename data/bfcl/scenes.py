"""Where a task begins: what its worlds hold, drawn from the words of its split."""

import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "webshop"))  # where the drawing is that these scripts use, too

from drawing import Draw  # noqa: E402

VOCABULARY: dict[str, Any] = tomllib.loads((HERE / "vocabulary.toml").read_text(encoding="utf-8"))


class DrawnScene(NamedTuple):
    """The worlds of a scenario, what they hold, and the words it may use."""

    worlds: tuple[str, ...]
    config: Mapping[str, Any]
    words: Mapping[str, Any]
    people: Sequence[str]
    today: str


def drawn_scene(split: str, worlds: Sequence[str], draw: Draw) -> DrawnScene:
    """Draw what the worlds of a scenario hold."""
    words = VOCABULARY["shared"] | VOCABULARY[split]
    people = [
        f"{first} {last}" for first, last in zip(draw.some(words["first"], 7), draw.some(words["last"], 7), strict=True)
    ]
    today = (date(2026, 2, 1) + timedelta(days=draw.integer((0, 300)))).isoformat()
    scene = DrawnScene(tuple(worlds), {}, words, people, today)
    config = {name: CONFIGS[name](scene, draw) for name in worlds if name in CONFIGS}
    return scene._replace(config=config)


def library(scene: DrawnScene, draw: Draw) -> dict[str, Any]:
    """Draw a library: three members have a book each, one reservation waits, two members owe something."""
    ids = numbered("BK", 100, 8, draw)
    books = [
        {
            "book_id": one,
            "title": title,
            "author": author,
            "subject": subject,
            "shelf": draw.one(scene.words["shelves"]),
        }
        for one, (title, author, subject) in zip(ids, draw.some(scene.words["books"], 8), strict=True)
    ]
    names = draw.some(scene.people, 7)
    members = [
        {"member_id": one, "name": name, "fine": draw.integer((5, 45)) / 5 if place in (3, 4) else 0.0}
        for place, (one, name) in enumerate(zip(numbered("MB", 10, 7, draw), names, strict=True))
    ]
    loans = [
        {"loan_id": f"LN-{number}", "book_id": ids[place], "member_id": members[place]["member_id"], "due": due}
        for place, (number, due) in enumerate(
            zip(
                draw.some(range(40, 99), 3),
                [later(scene.today, draw.integer((-12, 18))) for _ in range(3)],
                strict=True,
            )
        )
    ]
    reserved = {
        "reservation_id": f"RS-{draw.integer((40, 99))}",
        "book_id": ids[0],
        "member_id": members[4]["member_id"],
    }
    return {
        "today": scene.today,
        "next_number": draw.integer((200, 800)),
        "books": draw.some(books, len(books)),
        "members": draw.some(members, len(members)),
        "loans": loans,
        "reservations": [reserved],
    }


def greenhouse(scene: DrawnScene, draw: Draw) -> dict[str, Any]:
    """Draw a greenhouse: each of three zones has one free bed, and two plantings are ripe."""
    zones = draw.some(scene.words["zones"], 3)
    ids = numbered("BD", 10, 8, draw)
    beds = [
        {
            "bed_id": one,
            "zone": zones[place % 3],
            "area_m2": draw.one((1.5, 2.0, 2.5, 3.0, 4.0)),
            "moisture": draw.integer((20, 55)),
        }
        for place, one in enumerate(ids)
    ]
    species = draw.some(scene.words["species"], 5)
    plantings = [
        {
            "planting_id": planting_id,
            "species": species[place],
            "bed_id": ids[place],
            "plants": 5 * draw.integer((3, 11)),
            "is_ripe": place < 2,
        }
        for place, planting_id in enumerate(numbered("PL", 40, 5, draw))
    ]
    return {
        "next_number": draw.integer((200, 800)),
        "tank_litres": float(10 * draw.integer((20, 60))),
        "zones": [
            {"zone": zone, "temperature": float(draw.integer((14, 24))), "humidity": 5 * draw.integer((9, 16))}
            for zone in zones
        ],
        "beds": draw.some(beds, len(beds)),
        "plantings": draw.some(plantings, len(plantings)),
        "stock": [{"species": one, "seeds": draw.integer((18, 58))} for one in draw.some(species, 4)],
    }


def notebook(scene: DrawnScene, draw: Draw) -> dict[str, Any]:
    """Draw a notebook: notes at the root, in two folders, and in two folders of these."""
    tops = draw.some(scene.words["folders"], 2)
    folders = [f"/{top}" for top in tops]
    folders += [f"/{top}/{sub}" for top, sub in zip(tops, draw.some(scene.words["subfolders"], 2), strict=True)]
    places = ["/", "/", *folders, *folders][: len(scene.words["notes"])]
    notes = [
        {"folder": folder, "title": title, "text": text}
        for folder, (title, text, _) in zip(places, draw.some(scene.words["notes"], len(places)), strict=False)
    ]
    return {"here": "/", "folders": folders, "notes": notes}


def parcels(scene: DrawnScene, draw: Draw) -> dict[str, Any]:
    """Draw a parcel service: a parcel that is unpaid, one that is paid, one that is booked, and one unpaid again."""
    names, streets = draw.some(scene.people, 4), draw.some(scene.words["streets"], 4)
    addresses = [
        {"address_id": one, "name": name, "street": street, "city": draw.one(scene.words["cities"])}
        for one, name, street in zip(numbered("AD", 20, 4, draw), names, streets, strict=True)
    ]
    cards = [
        {"card_id": one, "label": label, "balance": float(draw.integer((90, 400)))}
        for one, label in zip(numbered("CC", 1, 3, draw, step=3), draw.some(scene.words["cards"], 3), strict=True)
    ]
    made = [
        {
            "parcel_id": parcel_id,
            "address_id": addresses[place]["address_id"],
            "weight_kg": weight,
            "service": "standard",
            "price": round(4.5 + 1.2 * weight, 2),
            "status": status,
            "card_id": "" if status == "unpaid" else cards[0]["card_id"],
        }
        for place, (parcel_id, status, weight) in enumerate(
            zip(
                numbered("PC", 100, 4, draw),
                ("unpaid", "paid", "booked", "unpaid"),
                [draw.integer((2, 24)) / 2 for _ in range(4)],
                strict=True,
            )
        )
    ]
    pickup = {"pickup_id": f"PU-{draw.integer((100, 199))}", "parcel_id": made[2]["parcel_id"], "slot": "morning"}
    return {
        "today": scene.today,
        "next_number": draw.integer((200, 800)),
        "addresses": addresses,
        "parcels": draw.some(made, len(made)),
        "cards": cards,
        "pickups": [pickup | {"day": later(scene.today, 2)}],
    }


def mail(scene: DrawnScene, draw: Draw) -> dict[str, Any]:
    """Draw a mailbox: six mails from as many people, two of them unread."""
    addresses = {name: f"{name.lower().replace(' ', '.')}@example.org" for name in scene.people}
    mails = [
        {
            "mail_id": mail_id,
            "folder": "inbox",
            "sender": addresses[sender],
            "to": "me@example.org",
            "subject": subject,
            "body": body,
            "is_unread": place < 2,
        }
        for place, (mail_id, sender, (subject, body)) in enumerate(
            zip(
                numbered("ML", 60, 6, draw), draw.some(scene.people, 6), draw.some(scene.words["mails"], 6), strict=True
            )
        )
    ]
    return {
        "owner": "me@example.org",
        "next_number": draw.integer((200, 800)),
        "contacts": [{"name": name, "address": address} for name, address in addresses.items()],
        "mails": draw.some(mails, len(mails)),
    }


CONFIGS: Mapping[str, Callable[[DrawnScene, Draw], dict[str, Any]]] = {
    "Library": library,
    "Greenhouse": greenhouse,
    "Notebook": notebook,
    "Parcels": parcels,
    "Mail": mail,
}
"""`Units` holds nothing."""


def numbered(prefix: str, start: int, n: int, draw: Draw, *, step: int = 9) -> list[str]:
    """Return n ids, of which each is a few numbers after the one before."""
    return [f"{prefix}-{start + step * place + draw.integer((0, step - 1))}" for place in range(n)]


def later(day: str, days: int) -> str:
    """Return the date that is so many days later."""
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()
