"""What each function of each world answers, and what it refuses, as scripts of calls.

A text stands for a refusal whose reason has it, anything else for (a part of) the result. The call "" has what of the
state is public as its result. A script goes on in one state, from `AGAIN` on from the first one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from iad_envs.toolcalls.calls import read_calls
from iad_envs.toolcalls.worlds import ACE_WORLD_NAMES, world

AGAIN: tuple[str, Any] = ("AGAIN", {})
READING = (
    *("find_", "inspect_", "count_", "read_", "describe_", "list_", "search_", "show_", "quote_", "track_", "check_"),
    *("convert_", "total_", "average_", "percent_", "days_"),
)
"""How the names of functions begin that change nothing."""
WITHOUT_LOG_IN, NO_WIFI, NO_ACCOUNT = "not logged in", "Wi-Fi is off", "Sign in first"

GREENHOUSE = {
    "next_number": 70,
    "tank_litres": 100.0,
    "zones": [{"zone": "fern room", "temperature": 18.0, "humidity": 70}, {"zone": "cold frame"}],
    "beds": [
        {"bed_id": "BD-1", "zone": "fern room", "area_m2": 2.0, "moisture": 30},
        {"bed_id": "BD-2", "zone": "fern room", "area_m2": 1.0},
        {"bed_id": "BD-3", "zone": "cold frame", "area_m2": 0.5},
    ],
    "plantings": [
        {"planting_id": "PL-4", "species": "mint", "bed_id": "BD-1", "plants": 30, "is_ripe": True},
        {"planting_id": "PL-5", "species": "kale", "bed_id": "BD-3", "plants": 10},
    ],
    "stock": [{"species": "mint", "seeds": 25}, {"species": "leek", "seeds": 90}],
}
LIBRARY = {
    "today": "2026-03-02",
    "next_number": 70,
    "books": [
        {"book_id": "BK-1", "title": "Tin Boats", "author": "Ola Berg", "subject": "crafts", "shelf": "A1"},
        {"book_id": "BK-2", "title": "Paper Boats", "author": "Ida Moe", "subject": "crafts", "shelf": "A2"},
        {"book_id": "BK-3", "title": "Wells", "author": "Ola Berg", "subject": "history", "shelf": "B1"},
    ],
    "members": [
        {"member_id": "MB-1", "name": "Kai Lund"},
        {"member_id": "MB-2", "name": "Eva Dahl", "fine": 4.0},
        {"member_id": "MB-3", "name": "Per Vik", "fine": 12.5},
    ],
    "loans": [{"loan_id": "LN-5", "book_id": "BK-2", "member_id": "MB-2", "due": "2026-02-25"}],
    "reservations": [{"reservation_id": "RS-6", "book_id": "BK-3", "member_id": "MB-1"}],
}
INBOX = {"folder": "inbox", "to": "me@example.org"}
MAIL = {
    "next_number": 70,
    "contacts": [{"name": "Kai Lund", "address": "kai.lund@example.org"}],
    "mails": [
        {**INBOX, "mail_id": "ML-1", "sender": "eva@example.org", "subject": "Kiln", "body": "Hot.", "is_unread": True},
        {**INBOX, "mail_id": "ML-2", "sender": "kai.lund@example.org", "subject": "Loom", "body": "Slow."},
    ],
}
RECEIVED = {"box": "received", "number": "555-0101", "words": "The Kiln is hot.", "day": "2026-03-01"}
MESSAGES = {
    "today": "2026-03-02",
    "next_number": 70,
    "max_messages": 3,
    "people": [{"name": "Kai Lund", "number": "555-0101"}, {"name": "Eva Dahl", "number": "555-0102"}],
    "messages": [
        {"message_id": "MG-1", **RECEIVED, "is_unread": True},
        {"message_id": "MG-2", "box": "sent", "number": "555-0102", "words": "The kiln, soon.", "day": "2026-03-01"},
    ],
}
NOTEBOOK = {
    "folders": ["/house", "/house/repairs", "/club"],
    "notes": [
        {"folder": "/", "title": "plan", "text": "Paint the hall."},
        {"folder": "/house/repairs", "title": "roof", "text": "A tile is loose.", "tags": ["old"]},
    ],
}
PARCEL = {"address_id": "AD-1", "weight_kg": 5.0, "service": "standard", "price": 10.5}
PARCELS = {
    "today": "2026-03-02",
    "next_number": 70,
    "addresses": [{"address_id": "AD-1", "name": "Kai Lund", "street": "2 Elm Row", "city": "Oxley"}],
    "parcels": [
        {"parcel_id": "PC-2", **PARCEL},
        {"parcel_id": "PC-3", **PARCEL, "status": "paid", "card_id": "CC-4"},
    ],
    "cards": [
        {"card_id": "CC-4", "label": "blue card", "balance": 50.0},
        {"card_id": "CC-5", "label": "club card", "balance": 3.0},
    ],
}
REMINDERS = {
    "next_number": 70,
    "reminders": [{"reminder_id": "RM-1", "title": "Oil the gate", "day": "2026-03-05", "hour": "09:00"}],
}
TAKEAWAY = {
    "next_number": 70,
    "accounts": [{"user_name": "kai", "password": "oak", "balance": 20.0}],
    "kitchens": [{"kitchen_id": "KT-1", "name": "The Pan", "cuisine": "Greek", "minutes": 30}],
    "dishes": [
        {"dish_id": "DS-1", "kitchen_id": "KT-1", "name": "soup", "price": 6.5},
        {"dish_id": "DS-2", "kitchen_id": "KT-2", "name": "pie", "price": 8.0},
    ],
    "orders": [{"order_id": "OD-1", "user_name": "kai", "dish_id": "DS-2", "portions": 1, "price": 8.0}],
}
WAY = {"origin": "Oxley", "destination": "Fenn", "day": "2026-03-05"}
TRIPS = {
    "next_number": 70,
    "accounts": [{"user_name": "kai", "password": "oak"}, {"user_name": "eva", "password": "ash"}],
    "trips": [
        {"trip_id": "TP-1", **WAY, "hour": "09:00", "price": 10.0, "free_seats": 4},
        {"trip_id": "TP-2", **WAY, "hour": "15:00", "price": 8.0, "free_seats": 2},
    ],
    "bookings": [
        {"booking_id": "BO-1", "user_name": "kai", "trip_id": "TP-1", "seats": 3, "place": "cabin", "price": 45.0},
        {"booking_id": "BO-2", "user_name": "eva", "trip_id": "TP-1", "seats": 1, "place": "deck", "price": 8.0},
    ],
}
CLIMATE = {"zone": "fern room", "temperature": 21.0, "humidity": 60}
SIGN_IN = "sign_in_takeaway(user_name='kai', password='oak')"
ON_TRIPS = "sign_in_trips(user_name='kai', password='oak')"
FIND_TRIPS = "find_trips(origin='Oxley', destination='Fenn', day='2026-03-05')"

SCRIPTS: Sequence[tuple[str, str, Mapping[str, Any], Sequence[tuple[str, Any]]]] = (
    ("Greenhouse", "beds, plantings and seeds", GREENHOUSE, [
        ("find_beds(zone='fern room')", {"beds": [{"bed_id": "BD-1", "is_free": False}, {"bed_id": "BD-2"}]}),
        ("find_beds(zone='attic')", "attic"),
        ("inspect_bed(bed_id='BD-1')", {"species": "mint"}),
        ("inspect_bed(bed_id='BD-2')", {"planting_id": ""}),
        ("inspect_bed(bed_id='BD-9')", "BD-9"),
        ("find_plantings(species='Mint')", {"plantings": [
            {"planting_id": "PL-4", "bed_id": "BD-1", "count": 30, "is_ripe": True}]}),
        ("find_plantings(species='leek')", "leek"),
        ("count_seeds(species='leek')", {"species": "leek", "seeds": 90}),
        ("count_seeds(species='kale')", "kale"),
        ("sow_seeds(bed_id='BD-2', species='mint', count=26)", "count must be"),
        ("sow_seeds(bed_id='BD-2', species='leek', count=41)", "count must be"),
        ("sow_seeds(bed_id='BD-2', species='leek', count=0)", "count must be 1 to 40"),
        ("sow_seeds(bed_id='BD-2', species='leek', count=True)", "count must be a whole number"),
        ("sow_seeds(bed_id='BD-2', species='leek', count=1.0)", "count must be a whole number"),
        ("sow_seeds(bed_id='BD-2', species='leek')", "count is missing."),
        ("count_seeds(species='leek', size=2)", "There is no parameter size; expected species."),
        ("sow_seeds(bed_id='BD-2', species='mint', count=20)", {"planting_id": "PL-70", "seeds": 5}),
        ("inspect_bed(bed_id='BD-2')", {"planting_id": "PL-70"}),
        ("sow_seeds(bed_id='BD-2', species='leek', count=5)", "not free"),
        AGAIN,
        ("transplant(planting_id='PL-4', bed_id='BD-3')", "not free"),
        ("transplant(planting_id='PL-5', bed_id='BD-2')", {"from_bed": "BD-3", "to_bed": "BD-2"}),
        ("transplant(planting_id='PL-4', bed_id='BD-2')", "not free"),
        ("transplant(planting_id='PL-4', bed_id='BD-3')", "too small"),
        ("harvest_planting(planting_id='PL-4')", {"species": "mint", "bed_id": "BD-1", "grams": 3600}),
        ("inspect_bed(bed_id='BD-1')", {"species": ""}),
        ("harvest_planting(planting_id='PL-5')", "not ripe"),
        ("harvest_planting(planting_id='PL-4')", "PL-4"),
    ]),
    ("Greenhouse", "water and climate", GREENHOUSE, [
        ("water_bed(bed_id='BD-1', litres=7.5)", {"moisture": 45, "tank_litres": 92.5}),
        ("water_bed(bed_id='BD-2', litres=90)", {"moisture": 100}),
        ("water_bed(bed_id='BD-1', litres=3)", "at most 2.5"),
        ("water_bed(bed_id='BD-1', litres=-1)", "more than 0"),
        ("set_climate(zone='fern room', temperature=21)", CLIMATE),
        ("read_climate(zone='fern room')", CLIMATE),
        ("set_climate(zone='fern room', temperature=40)", "5 to 35"),
        ("set_climate(zone='fern room', temperature=20, humidity=10)", "20 to 95"),
        ("read_climate(zone='attic')", "attic"),
    ]),
    ("Library", "books and members", LIBRARY, [
        ("find_books(words='BOATS')", {"books": [{"book_id": "BK-1"}, {"book_id": "BK-2"}]}),
        ("find_books(words='ola berg')", {"books": [{"title": "Tin Boats"}, {"title": "Wells"}]}),
        ("find_books(words='cats')", "No book"),
        ("find_books(words=' ')", "No book"),
        ("describe_book(book_id='BK-2')", {"shelf": "A2", "status": "lent", "due": "2026-02-25"}),
        ("describe_book(book_id='BK-1')", {"status": "in"}),
        ("describe_book(book_id='BK-9')", "BK-9"),
        ("find_member(name='eva dahl')", {"member_id": "MB-2", "name": "Eva Dahl", "fine": 4.0}),
        ("find_member(name='Eva')", "Eva"),
        ("list_loans(member_id='MB-2')", {"loans": [
            {"loan_id": "LN-5", "book_id": "BK-2", "title": "Paper Boats", "due": "2026-02-25"}]}),
        ("list_loans(member_id='MB-1')", {"loans": []}),
        ("list_loans(member_id='MB-9')", "MB-9"),
        ("pay_fine(member_id='MB-2', amount=1.5)", {"paid": 1.5, "fine": 2.5}),
        ("pay_fine(member_id='MB-2', amount=2.6)", "at most 2.50"),
        ("pay_fine(member_id='MB-1', amount=0)", "more than 0"),
        ("pay_fine(member_id='MB-2', amount=2.5)", {"fine": 0.0}),
    ]),
    ("Library", "loans and reservations", LIBRARY, [
        ("lend_book(book_id='BK-1', member_id='MB-1', days=0)", "1 to 60"),
        ("lend_book(book_id='BK-1', member_id='MB-1', days=61)", "1 to 60"),
        ("lend_book(book_id='BK-1', member_id='MB-1')", {"loan_id": "LN-70", "due": "2026-03-23"}),
        ("describe_book(book_id='BK-1')", {"status": "lent"}),
        ("lend_book(book_id='BK-1', member_id='MB-2')", "lent already"),
        ("lend_book(book_id='BK-3', member_id='MB-3')", "has to pay"),
        ("lend_book(book_id='BK-3', member_id='MB-2')", "reserved for MB-1"),
        ("return_book(book_id='BK-1')", {"fine": 0.0}),
        ("lend_book(book_id='BK-3', member_id='MB-1', days=7)", {"due": "2026-03-09"}),
        ("", {"reservations": ()}),
        AGAIN,
        ("renew_loan(loan_id='LN-5', days=61)", "1 to 60"),
        ("renew_loan(loan_id='LN-5')", {"loan_id": "LN-5", "due": "2026-03-11"}),
        ("renew_loan(loan_id='LN-5', days=1)", {"due": "2026-03-12"}),
        ("renew_loan(loan_id='LN-6')", "LN-6"),
        ("reserve_book(book_id='BK-2', member_id='MB-1')", {"place": 1}),
        ("renew_loan(loan_id='LN-5')", "reserved"),
        AGAIN,
        ("return_book(book_id='BK-2')", {"member_id": "MB-2", "days_late": 5, "fine": 1.0}),
        ("find_member(name='Eva Dahl')", {"fine": 5.0}),
        ("return_book(book_id='BK-2')", "not lent"),
        ("return_book(book_id='BK-9')", "BK-9"),
        ("reserve_book(book_id='BK-3', member_id='MB-2')", {"reservation_id": "RS-70", "place": 2}),
        ("reserve_book(book_id='BK-3', member_id='MB-2')", "already"),
        ("reserve_book(book_id='BK-3', member_id='MB-9')", "MB-9"),
        ("cancel_reservation(reservation_id='RS-6')", {"status": "cancelled"}),
        ("cancel_reservation(reservation_id='RS-6')", "RS-6"),
    ]),
    ("Mail", "what came and what is sent", MAIL, [
        ("find_contact(name='kai lund')", {"name": "Kai Lund", "address": "kai.lund@example.org"}),
        ("find_contact(name='Eva')", "Eva"),
        ("list_inbox()", {"mails": [{"mail_id": "ML-1"}, {"mail_id": "ML-2"}]}),
        ("list_inbox(unread_only=True)", {"mails": [{"mail_id": "ML-1"}]}),
        ("list_inbox(unread_only=1)", "True or False"),
        ("search_mail(words='kiln')", {"mails": [{"mail_id": "ML-1", "subject": "Kiln", "is_unread": True}]}),
        ("search_mail(words='kai.lund')", {"mails": [{"mail_id": "ML-2"}]}),
        ("search_mail(words='Hot.')", "No mail"),
        ("open_mail(mail_id='ML-1')", {"body": "Hot."}),
        ("list_inbox(unread_only=True)", {"mails": []}),
        ("open_mail(mail_id='ML-9')", "ML-9"),
        *((f"draft_mail(to='{to}', subject='', body='')", "mail address") for to in ("Kai Lund", "kai@host", "@b.org")),
        ("draft_mail(to='a@b.org', subject='Hello', body='Soon.')", {"mail_id": "ML-70"}),
        ("send_draft(mail_id='ML-70')", {"mail_id": "ML-70", "status": "sent"}),
        ("send_draft(mail_id='ML-70')", "not a draft"),
        ("reply_mail(mail_id='ML-2', body='Yes.')", {"mail_id": "ML-71", "to": "kai.lund@example.org"}),
        ("reply_mail(mail_id='ML-71', body='No.')", "not in the inbox"),
        ("list_inbox()", {"mails": [{}, {}]}),
        ("label_mail(mail_id='ML-2', label='later')", {"mail_id": "ML-2", "label": "later"}),
        ("label_mail(mail_id='ML-2', label=' ')", "a word"),
        ("label_mail(mail_id='ML-9', label='later')", "ML-9"),
        ("", {"mails": [{"mail_id": "ML-1"}, {"label": "later"}, {"folder": "sent"},
                        {"folder": "sent", "subject": "Re: Loom", "body": "Yes."}]}),
    ]),
    ("Messages", "before the log-in", {**MESSAGES, "wifi": True}, [
        ("find_number(name='Kai Lund')", WITHOUT_LOG_IN),
        ("write_message(number='555-0101', words='a')", WITHOUT_LOG_IN),
        ("list_messages()", WITHOUT_LOG_IN),
        ("find_messages(words='kiln')", WITHOUT_LOG_IN),
        ("open_message(message_id='MG-1')", WITHOUT_LOG_IN),
        ("answer_message(message_id='MG-1', words='a')", WITHOUT_LOG_IN),
        ("remove_message(message_id='MG-1')", WITHOUT_LOG_IN),
    ]),
    ("Messages", "without Wi-Fi", {**MESSAGES, "logged_in": True}, [
        ("write_message(number='555-0101', words='a')", NO_WIFI),
        ("answer_message(message_id='MG-1', words='a')", NO_WIFI),
        ("find_number(name='eva dahl')", {"number": "555-0102"}),
    ]),
    ("Messages", "logged in", {**MESSAGES, "wifi": True, "logged_in": True}, [
        ("write_message(number='555-9999', words='Hello.')", "saved"),
        ("find_number(name='Eva')", "Eva"),
        ("find_messages(words='kiln')", {"messages": [{"message_id": "MG-1"}]}),
        ("find_messages(words='soon')", "soon"),
        ("list_messages(unread_only=True)", {"messages": [{"message_id": "MG-1"}], "free_places": 1}),
        ("open_message(message_id='MG-1')", {"words": "The Kiln is hot."}),
        ("list_messages(unread_only=True)", {"messages": []}),
        ("answer_message(message_id='MG-2', words='a')", "not received"),
        ("answer_message(message_id='MG-1', words='Good.')", {"number": "555-0101"}),
        ("write_message(number='555-0101', words='a')", "Remove one first"),
        ("remove_message(message_id='MG-9')", "MG-9"),
        ("remove_message(message_id='MG-1')", {"status": "removed"}),
        ("write_message(number='555-0102', words='Hello.')", {"message_id": "MG-71"}),
        ("", {"removed": ("MG-1",), "messages": [{}, {}, {
            "message_id": "MG-71", "box": "sent", "number": "555-0102", "words": "Hello.", "day": "2026-03-02",
            "is_unread": False}]}),
    ]),
    ("Notebook", "folders", NOTEBOOK, [
        ("open_folder(folder='repairs')", "no folder"),
        ("open_folder(folder='/nowhere')", "no folder"),
        ("open_folder(folder='')", "no folder"),
        ("open_folder(folder='/house//repairs')", "no folder"),
        ("show_folder()", {"current_folder": "/", "folders": ["club", "house"], "notes": ["plan"]}),
        ("open_folder(folder='..')", {"current_folder": "/"}),
        ("open_folder(folder='house')", {"current_folder": "/house"}),
        ("show_folder()", {"current_folder": "/house", "folders": ["repairs"], "notes": []}),
        ("open_folder(folder='repairs')", {"current_folder": "/house/repairs"}),
        ("open_folder(folder='..')", {"current_folder": "/house"}),
        ("open_folder(folder='..')", {"current_folder": "/"}),
        ("open_folder(folder='house/repairs/')", {"current_folder": "/house/repairs"}),
        ("open_folder(folder='/')", {"current_folder": "/"}),
        ("make_folder(folder='trips')", {"path": "/trips"}),
        ("make_folder(folder='trips')", "already"),
        ("make_folder(folder='a/b')", "without a slash"),
        ("make_folder(folder='..')", "without a slash"),
    ]),
    ("Notebook", "notes", NOTEBOOK, [
        ("append_line(title='plan', text='Twice.')", {"title": "plan", "lines": 2}),
        ("read_note(title='plan')", {"text": "Paint the hall.\nTwice."}),
        ("append_line(title='roof', text='x')", "no note"),
        *[(f"append_line(title='plan', text='{'x' * 20_000}')", {})] * 3,
        (f"append_line(title='plan', text='{'x' * 20_000}')", "characters"),
        ("search_notes(words='TILE')", {"matches": [{"folder": "/house/repairs", "title": "roof"}]}),
        ("search_notes(words='cellar')", "No note"),
        ("move_note(title='plan', folder='attic')", "no folder"),
        ("move_note(title='plan', folder='house')", {"path": "/house/plan"}),
        ("move_note(title='plan', folder='club')", "no note"),
        ("write_note(title='plan')", {"path": "/plan"}),
        ("append_line(title='plan', text='First.')", {"lines": 1}),
        ("move_note(title='plan', folder='house')", "already"),
        ("remove_note(title='plan')", {"title": "plan", "status": "deleted"}),
        ("remove_note(title='plan')", "no note"),
        ("open_folder(folder='club')", {}),
        ("write_note(title='songs', text='One.')", {"path": "/club/songs"}),
        ("read_note(title='songs')", {"title": "songs", "text": "One.", "tags": []}),
        ("write_note(title='songs')", "already"),
        ("write_note(title='a/b')", "without a slash"),
        ("read_note(title='plan')", "no note 'plan' in /club"),
        ("open_folder(folder='/house/repairs')", {}),
        ("tag_note(title='roof', tag='urgent')", {"tags": ["old", "urgent"]}),
        ("tag_note(title='roof', tag='old')", "new word"),
    ]),
    ("Parcels", "addresses and prices", PARCELS, [
        ("find_address(name='Kai Lund')", {"address_id": "AD-1"}),
        ("find_address(name='Kai')", "Kai"),
        ("save_address(name='Eva Dahl', street='1 Lime Walk', city='Oxley')", {"address_id": "AD-70"}),
        ("find_address(name='Eva Dahl')", {"address_id": "AD-70", "street": "1 Lime Walk", "city": "Oxley"}),
        ("save_address(name='Eva Dahl', street='1 Lime Walk', city='Oxley')", "already"),
        ("quote_parcel(address_id='AD-1', weight_kg=2.5, service='standard')", {"price": 7.5}),
        ("quote_parcel(address_id='AD-1', weight_kg=2.5, service='express')", {"price": 14.0}),
        ("quote_parcel(address_id='AD-1', weight_kg=2.5, service='overnight')", {"price": 22.5}),
        ("quote_parcel(address_id='AD-1', weight_kg=31)", "at most 30"),
        ("quote_parcel(address_id='AD-9', weight_kg=1)", "AD-9"),
        ("quote_parcel(address_id='AD-1', weight_kg=1, service='slow')", "one of standard"),
        ("create_parcel(address_id='AD-1', weight_kg=0)", "more than 0"),
        ("create_parcel(address_id='AD-1', weight_kg=10)", {"parcel_id": "PC-71", "price": 16.5}),
        ("track_parcel(parcel_id='PC-71')", {"status": "unpaid"}),
        ("track_parcel(parcel_id='PC-9')", "PC-9"),
    ]),
    ("Parcels", "payment, pickup and refund", PARCELS, [
        ("list_cards()", {"cards": [{"card_id": "CC-4"}, {"card_id": "CC-5"}]}),
        ("insure_parcel(parcel_id='PC-2', value=0)", "above 0"),
        ("insure_parcel(parcel_id='PC-2', value=200)", {"premium": 3.0, "price": 13.5}),
        ("insure_parcel(parcel_id='PC-2', value=10)", "already"),
        ("insure_parcel(parcel_id='PC-3', value=10)", "must be unpaid"),
        AGAIN,
        ("book_pickup(parcel_id='PC-2', day='2026-03-05')", "must be paid"),
        ("pay_parcel(parcel_id='PC-2', card_id='CC-5')", "CC-5 has 3.00"),
        ("pay_parcel(parcel_id='PC-2', card_id='CC-4')", {"paid": 10.5, "balance": 39.5}),
        ("pay_parcel(parcel_id='PC-2', card_id='CC-4')", "must be unpaid"),
        *((f"book_pickup(parcel_id='PC-3', day='{day}')", "day must")
          for day in ("2026-03-01", "March 5, 2026", "2026-02-30", "20260305", "")),
        ("book_pickup(parcel_id='PC-3', day='2026-03-05')", {"pickup_id": "PU-70"}),
        ("", {"pickups": [{"slot": "morning"}]}),
        ("book_pickup(parcel_id='PC-3', day='2026-03-05')", "must be paid"),
        ("track_parcel(parcel_id='PC-3')", {"service": "standard", "price": 10.5}),
        ("cancel_parcel(parcel_id='PC-3')", {"parcel_id": "PC-3", "refund": 10.5}),
        ("list_cards()", {"cards": [{"balance": 50.0}, {"balance": 3.0}]}),
        ("", {"pickups": ()}),
        AGAIN,
        ("cancel_parcel(parcel_id='PC-2')", {"refund": 0.0}),
        ("cancel_parcel(parcel_id='PC-2')", "PC-2"),
    ]),
    ("Reminders", "before the log-in", REMINDERS, [
        ("set_reminder(title='a', day='2026-03-06', hour='10:00')", WITHOUT_LOG_IN),
        ("list_reminders(day='2026-03-05')", WITHOUT_LOG_IN),
        ("find_reminders(words='gate')", WITHOUT_LOG_IN),
        ("move_reminder(reminder_id='RM-1', day='2026-03-06', hour='10:00')", WITHOUT_LOG_IN),
        ("tick_reminder(reminder_id='RM-1')", WITHOUT_LOG_IN),
        ("remove_reminder(reminder_id='RM-1')", WITHOUT_LOG_IN),
    ]),
    ("Reminders", "logged in", {**REMINDERS, "logged_in": True}, [
        ("set_reminder(title='Tea', day='2026-03-06', hour='16:30', note='Green.')", {"reminder_id": "RM-70"}),
        ("list_reminders(day='2026-03-06')", {"reminders": [{"note": "Green."}]}),
        ("set_reminder(title=' ', day='2026-03-06', hour='16:30')", "a few words"),
        ("set_reminder(title='Tea', day='2026-02-30', hour='10:00')", "must be"),
        ("move_reminder(reminder_id='RM-1', day='20260306', hour='10:00')", "must be"),
        ("move_reminder(reminder_id='RM-1', day='2026-03-06', hour='25:00')", "must be"),
        ("find_reminders(words='GATE')", {"reminders": [{"reminder_id": "RM-1"}]}),
        ("find_reminders(words='roof')", "roof"),
        ("move_reminder(reminder_id='RM-1', day='2026-04-01', hour='08:15')", {}),
        ("list_reminders(day='2026-03-05')", {"reminders": []}),
        ("tick_reminder(reminder_id='RM-1')", {"is_done": True}),
        ("tick_reminder(reminder_id='RM-1')", "done already"),
        ("remove_reminder(reminder_id='RM-1')", {"status": "removed"}),
        ("remove_reminder(reminder_id='RM-1')", "RM-1"),
        ("", {"removed": ("RM-1",)}),
    ]),
    ("Takeaway", "without Wi-Fi", {**TAKEAWAY, "signed_in": "kai", "logged_in": True}, [
        (SIGN_IN, NO_WIFI),
        ("find_kitchens(cuisine='Greek')", NO_WIFI),
        ("list_dishes(kitchen_id='KT-1')", NO_WIFI),
        ("order_dish(dish_id='DS-1')", NO_WIFI),
        ("cancel_dish(order_id='OD-1')", NO_WIFI),
        ("put_money(amount=5)", NO_WIFI),
    ]),
    ("Takeaway", "orders", {**TAKEAWAY, "wifi": True}, [
        ("order_dish(dish_id='DS-1')", NO_ACCOUNT),
        ("cancel_dish(order_id='OD-1')", NO_ACCOUNT),
        ("put_money(amount=5)", NO_ACCOUNT),
        ("sign_in_takeaway(user_name='kai', password='ash')", "wrong"),
        ("sign_in_takeaway(user_name='eva', password='oak')", "eva"),
        (SIGN_IN, {"user_name": "kai", "balance": 20.0}),
        ("find_kitchens(cuisine='greek')", {"kitchens": [{"kitchen_id": "KT-1"}]}),
        ("find_kitchens(cuisine='Thai')", "Thai"),
        ("list_dishes(kitchen_id='KT-1')", {"dishes": [{"dish_id": "DS-1", "name": "soup", "price": 6.5}]}),
        ("order_dish(dish_id='DS-1', portions=3)", {"order_id": "OD-70", "price": 19.5, "balance": 0.5}),
        ("order_dish(dish_id='DS-1')", "has 0.50"),
        ("order_dish(dish_id='DS-1', portions=0)", "from 1 to"),
        *((f"put_money(amount={amount})", "at most 200") for amount in (0, -3, 201)),
        ("put_money(amount=6)", {"balance": 6.5}),
        ("order_dish(dish_id='DS-1', note='warm')", {"balance": 0.0}),
        ("cancel_dish(order_id='OD-1')", {"order_id": "OD-1", "balance": 8.0}),
        ("cancel_dish(order_id='OD-1')", "no order"),
        ("", {"balances": {"kai": 8.0}, "orders": [{"status": "cancelled"}, {}, {}]}),
    ]),
    ("Trips", "without Wi-Fi", {**TRIPS, "signed_in": "kai"}, [
        (ON_TRIPS, NO_WIFI),
        (FIND_TRIPS, NO_WIFI),
        ("book_seats(trip_id='TP-1')", NO_WIFI),
        ("change_trip(booking_id='BO-1', trip_id='TP-2')", NO_WIFI),
        ("cancel_seats(booking_id='BO-1')", NO_WIFI),
        ("list_bookings()", NO_WIFI),
    ]),
    ("Trips", "bookings", {**TRIPS, "wifi": True}, [
        ("book_seats(trip_id='TP-1')", NO_ACCOUNT),
        ("list_bookings()", NO_ACCOUNT),
        ("sign_in_trips(user_name='kai', password='ash')", "wrong"),
        (ON_TRIPS, {"user_name": "kai"}),
        (FIND_TRIPS, {"trips": [{"trip_id": "TP-1"}, {"trip_id": "TP-2"}]}),
        ("find_trips(origin='Fenn', destination='Oxley', day='2026-03-05')", "no trip"),
        ("list_bookings()", {"bookings": [{"booking_id": "BO-1"}]}),
        ("change_trip(booking_id='BO-1', trip_id='TP-2')", "3 free seats"),
        ("change_trip(booking_id='BO-1', trip_id='TP-1')", "another trip"),
        ("book_seats(trip_id='TP-1', seats=5)", "from 1 to 4"),
        ("book_seats(trip_id='TP-1', place='roof')", "one of saloon"),
        ("book_seats(trip_id='TP-1', seats=2, place='deck')", {"booking_id": "BO-70", "price": 16.0}),
        ("book_seats(trip_id='TP-1', seats=3)", "from 1 to 2"),
        ("book_seats(trip_id='TP-2', seats=2)", {"booking_id": "BO-71", "price": 16.0}),
        ("change_trip(booking_id='BO-71', trip_id='TP-1')", {"booking_id": "BO-71", "price": 20.0}),
        ("cancel_seats(booking_id='BO-2')", "no open booking"),
        ("cancel_seats(booking_id='BO-1')", {"status": "cancelled"}),
        ("cancel_seats(booking_id='BO-1')", "no open booking"),
        ("", {"bookings": [{"status": "cancelled"}, {}, {}, {}]}),
        (FIND_TRIPS, {"trips": [{"free_seats": 3}, {"free_seats": 2}]}),
    ]),
    ("Units", "units", {}, [
        *((f"convert_{kind}(value={value}, from_unit='{old}', to_unit='{new}')", {"value": result, "unit": new})
          for kind, value, old, new, result in (
            ("length", 3, "miles", "kilometres", 4.83), ("length", 2.5, "metres", "feet", 8.2),
            ("length", 10, "inches", "centimetres", 25.4), ("weight", 46, "pounds", "kilograms", 20.87),
            ("weight", 5, "ounces", "grams", 141.75), ("volume", 2, "gallons", "litres", 7.57),
            ("volume", 3, "pints", "millilitres", 1419.53), ("temperature", 68, "fahrenheit", "celsius", 20.0),
            ("temperature", -40, "celsius", "fahrenheit", -40.0), ("temperature", 0, "celsius", "kelvin", 273.15))),
        ("convert_weight(value=1, from_unit='cubits', to_unit='grams')", "from_unit must be one of"),
        ("convert_temperature(value=-300, from_unit='celsius', to_unit='kelvin')", "zero"),
        ("total_of(values=[0.1, 0.2, 7])", {"value": 7.3}),
        ("average_of(values=[1, 2])", {"value": 1.5}),
        ("total_of(values=[])", "empty"),
        ("average_of(values=[])", "empty"),
        ("total_of(values=[1, '2'])", "list of a number"),
        ("percent_of(amount=80, percent=15)", {"value": 12.0}),
        ("percent_of(amount='80', percent=15)", "a number"),
        ("days_between(start='2026-02-27', end='2026-03-01')", {"days": 2}),
        ("days_between(start='2026-03-01', end='2026-02-27')", "before start"),
        ("days_between(start='March 1', end='2026-02-27')", "YYYY-MM-DD"),
    ]),
    *((name, "the phone", {"wifi": False, "logged_in": False, "pin": "4821"}, [
        ("check_phone()", {"wifi": False, "logged_in": False}),
        ("switch_wifi_on()", {"wifi": True}),
        ("log_in_phone(pin='4822')", "wrong"),
        ("log_in_phone(pin='4821')", {"logged_in": True}),
        ("", {"wifi": True, "logged_in": True}),
        ("switch_wifi_off()", {}),
        ("log_out_phone()", {}),
        ("check_phone()", {"wifi": False, "logged_in": False}),
    ]) for name in ACE_WORLD_NAMES),
)  # fmt: skip


def is_part(wanted: Any, found: Any) -> bool:
    """Whether everything that is wanted is there. Lists have the same length; of dicts some keys may be wanted."""
    if isinstance(wanted, Mapping):
        found = found._asdict() if hasattr(found, "_asdict") else found
        return isinstance(found, Mapping) and all(
            key in found and is_part(value, found[key]) for key, value in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return len(wanted) == len(found) and all(map(is_part, wanted, found))
    return type(wanted) is type(found) and bool(wanted == found)


@pytest.mark.parametrize(
    ("name", "config", "script"), [(name, config, script) for name, _, config, script in SCRIPTS],
    ids=[f"{name}: {what}" for name, what, *_ in SCRIPTS],
)  # fmt: skip
def test_each_call_is_answered_or_refused(name: str, config: Mapping[str, Any], script: Any) -> None:
    here = world(name)
    state = here.load(config, long_context=False)
    for text, expected in script:
        if text == "AGAIN":
            state = here.load(config, long_context=False)
            continue
        if not text:
            assert is_part(expected, here.public(state)), (expected, here.public(state))
            assert "4821" not in str(here.public(state)), "the PIN is not public"
            continue
        (call,) = read_calls(text)
        after, result = here.call(state, call.name, call.arguments)
        if isinstance(expected, str):
            assert set(result) == {"error"}, (text, result)
            assert expected in result["error"], (text, result)
            assert after is state, text
        else:
            assert "error" not in result, (text, result)
            assert is_part(expected, result), (text, result)
            assert after == state or not text.startswith(READING), text
        state = after


def test_inherited_functions_keep_their_documents() -> None:
    own = world("Phone").documents
    for name in ACE_WORLD_NAMES:
        assert world(name).documents[: len(own)] == own
