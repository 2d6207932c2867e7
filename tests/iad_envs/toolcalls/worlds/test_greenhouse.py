from tests.iad_envs.toolcalls.worlds.world_calls import Desk

WORLD = "Greenhouse"
CONFIG = {
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


def test_beds_plantings_and_seeds_are_found(desk: Desk) -> None:
    assert desk.reads("find_beds", zone="fern room")["beds"] == [
        {"bed_id": "BD-1", "area_m2": 2.0, "is_free": False},
        {"bed_id": "BD-2", "area_m2": 1.0, "is_free": True},
    ]
    assert "attic" in desk.refused("find_beds", zone="attic")
    assert desk.reads("inspect_bed", bed_id="BD-1")["species"] == "mint"
    assert desk.reads("inspect_bed", bed_id="BD-2")["planting_id"] == ""
    assert "BD-9" in desk.refused("inspect_bed", bed_id="BD-9")
    (planting,) = desk.reads("find_plantings", species="Mint")["plantings"]
    assert planting == {"planting_id": "PL-4", "bed_id": "BD-1", "count": 30, "is_ripe": True}
    assert "leek" in desk.refused("find_plantings", species="leek")
    assert desk.reads("count_seeds", species="leek") == {"species": "leek", "seeds": 90}
    assert "kale" in desk.refused("count_seeds", species="kale")


def test_seeds_are_sown_as_many_as_there_are_and_as_fit(desk: Desk) -> None:
    for species, count in (("mint", 26), ("leek", 41), ("leek", 0)):
        assert "count must be" in desk.refused("sow_seeds", bed_id="BD-2", species=species, count=count)
    assert desk.call("sow_seeds", bed_id="BD-2", species="mint", count=20) == {"planting_id": "PL-70", "seeds": 5}
    assert desk.reads("inspect_bed", bed_id="BD-2")["planting_id"] == "PL-70"
    assert "not free" in desk.refused("sow_seeds", bed_id="BD-2", species="leek", count=5)


def test_a_bed_is_watered_and_a_climate_is_set(desk: Desk) -> None:
    watered = desk.call("water_bed", bed_id="BD-1", litres=7.5)
    assert watered == {"bed_id": "BD-1", "moisture": 45, "tank_litres": 92.5}
    assert desk.call("water_bed", bed_id="BD-2", litres=90)["moisture"] == 100
    assert "at most 2.5" in desk.refused("water_bed", bed_id="BD-1", litres=3)
    assert "more than 0" in desk.refused("water_bed", bed_id="BD-1", litres=-1)
    set_to = desk.call("set_climate", zone="fern room", temperature=21)
    assert set_to == {"zone": "fern room", "temperature": 21.0, "humidity": 60}
    assert desk.reads("read_climate", zone="fern room") == set_to
    assert "5 to 35" in desk.refused("set_climate", zone="fern room", temperature=40)
    assert "20 to 95" in desk.refused("set_climate", zone="fern room", temperature=20, humidity=10)
    assert "attic" in desk.refused("read_climate", zone="attic")


def test_what_is_ripe_is_harvested_and_a_planting_is_moved(desk: Desk) -> None:
    moved = desk.call("transplant", planting_id="PL-5", bed_id="BD-2")
    assert moved == {"planting_id": "PL-5", "from_bed": "BD-3", "to_bed": "BD-2"}
    assert "not free" in desk.refused("transplant", planting_id="PL-4", bed_id="BD-2")
    assert "too small" in desk.refused("transplant", planting_id="PL-4", bed_id="BD-3")
    harvested = desk.call("harvest_planting", planting_id="PL-4")
    assert harvested == {"species": "mint", "bed_id": "BD-1", "grams": 3600}
    assert desk.reads("inspect_bed", bed_id="BD-1")["species"] == ""
    assert "not ripe" in desk.refused("harvest_planting", planting_id="PL-5")
    assert "PL-4" in desk.refused("harvest_planting", planting_id="PL-4")
