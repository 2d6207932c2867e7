"""Schemas in their renderings."""

from iad_envs.bird.schema import RENDERERS, Schema


def test_a_schema_joins_the_database_its_descriptions_and_the_tables_file(schema: Schema) -> None:
    city, shop, items = schema.tables
    assert [column.name for column in city.columns] == ["id", "name", "country", "founded"]
    assert city.columns[0].is_key
    assert city.columns[1].described.description == "the name of the city"
    assert shop.columns[3].described == ("yearly sales", "sales in millions of €", "half: 0.5 none: NULL")
    assert items.columns[1].values == ("tea", "bun")
    assert ("shop", "city_id", "city", "id") in schema.foreign_keys
    assert ("order item", "shop id", "shop", "id") in schema.foreign_keys


def test_ddl_is_the_databases_own_text(schema: Schema) -> None:
    text = RENDERERS["ddl"](schema)
    assert "CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT, country TEXT, founded TEXT);" in text
    assert "yearly" not in text


def test_ddl_with_samples_describes_every_column(schema: Schema) -> None:
    text = RENDERERS["ddl+samples"](schema)
    assert "    name TEXT, -- city name; the name of the city; values: 'Bern', 'Basel', 'Lyon'" in text
    assert '    "shop id" INTEGER, -- values: 1, 2' in text
    assert '    FOREIGN KEY ("shop id") REFERENCES shop (id),' in text


def test_m_schema_has_a_tuple_a_column_and_the_keys_at_the_end(schema: Schema) -> None:
    lines = RENDERERS["m-schema"](schema).splitlines()
    assert lines[0] == "【DB_ID】 towns"
    assert "# Table: city" in lines
    assert "(id:INTEGER, the number, Primary Key, Examples: [1, 2, 3])," in lines
    assert lines[-2:] == ["shop.city_id=city.id", "order item.shop id=shop.id"]
