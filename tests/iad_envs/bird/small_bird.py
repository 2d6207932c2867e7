"""A small data folder in BIRD's layout, and single databases, for tests."""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SCHEMA = (
    "CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT, country TEXT, founded TEXT)",
    "INSERT INTO city VALUES (1,'Bern','Switzerland','1191-05-01'),(2,'Basel','Switzerland','0374-01-01'),"
    "(3,'Lyon','France','-0043-01-01'),(4,'Nice','France',NULL)",
    "CREATE TABLE shop (id INTEGER PRIMARY KEY, city_id INTEGER REFERENCES city(id), name TEXT, sales REAL, "
    "staff INTEGER)",
    "INSERT INTO shop VALUES (1,1,'Anna''s',10.5,3),(2,1,'Bits',20.25,NULL),(3,2,'Corner',20.25,7),"
    "(4,3,'Délice',NULL,2)",
    'CREATE TABLE "order item" ("shop id" INTEGER, what TEXT, price REAL)',
    "INSERT INTO \"order item\" VALUES (1,'tea',2.5),(1,'tea',2.5),(2,'bun',1.0)",
)
KEYS = ("question_id", "db_id", "difficulty", "question", "evidence", "SQL")
QUESTIONS: Sequence[dict[str, Any]] = [
    dict(zip(KEYS, row, strict=True))
    for row in (
        (7, "towns", "simple", "How many shops are in Bern?", "Bern refers to name = 'Bern'",
         "SELECT COUNT(*) FROM shop JOIN city ON shop.city_id = city.id WHERE city.name = 'Bern'"),
        (8, "towns", "moderate", "List the shops by sales, best first.", "",
         "SELECT name FROM shop WHERE sales IS NOT NULL ORDER BY sales DESC"),
        (9, "towns", "challenging", "Which city has the oldest date?", "",
         "SELECT name FROM city WHERE founded = (SELECT MIN(founded) FROM city)"),
    )
]  # fmt: skip
UNANSWERED = {"question_id": 10, "db_id": "towns", "question": "Which shop is the nicest?", "evidence": ""}


def make_database(path: Path, statements: Sequence[str] = SCHEMA) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def make_folder(folder: Path, questions: Sequence[dict[str, Any]] = QUESTIONS) -> Path:
    make_database(folder / "dev_databases" / "towns" / "towns.sqlite")
    described = folder / "dev_databases" / "towns" / "database_description"
    described.mkdir()
    header = "original_column_name,column_name,column_description,data_format,value_description\n"
    (described / "city.csv").write_bytes(
        b"\xef\xbb\xbf" + f"{header}id,,the number,integer,\n name ,city name,the name of the city,text,\n".encode()
    )
    (described / "Shop.csv").write_bytes(
        f'{header}SALES,yearly sales,sales in millions of €,real,"half: 0.5\nnone: NULL"\n'.encode("cp1252")
    )
    (folder / "dev.json").write_text(json.dumps(list(questions)), encoding="utf-8")
    tables = {
        "db_id": "towns", "table_names_original": ["city", "shop", "order item"],
        "column_names_original": [[-1, "*"], [0, "id"], [1, "id"], [1, "city_id"], [2, "shop id"]],
        "primary_keys": [1, 2], "foreign_keys": [[4, 2]],
    }  # fmt: skip
    (folder / "dev_tables.json").write_text(json.dumps([tables]), encoding="utf-8")
    return folder
