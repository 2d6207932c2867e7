from tests.iad_envs.toolcalls.worlds.world_calls import Desk

WORLD, CONFIG = "Units", dict[str, object]()


def test_units_are_converted(desk: Desk) -> None:
    for kind, value, old, new, result in (
        ("length", 3, "miles", "kilometres", 4.83),
        ("length", 2.5, "metres", "feet", 8.2),
        ("length", 10, "inches", "centimetres", 25.4),
        ("weight", 46, "pounds", "kilograms", 20.87),
        ("weight", 5, "ounces", "grams", 141.75),
        ("volume", 2, "gallons", "litres", 7.57),
        ("volume", 3, "pints", "millilitres", 1419.53),
        ("temperature", 68, "fahrenheit", "celsius", 20.0),
        ("temperature", -40, "celsius", "fahrenheit", -40.0),
        ("temperature", 0, "celsius", "kelvin", 273.15),
    ):
        converted = desk.reads(f"convert_{kind}", value=value, from_unit=old, to_unit=new)
        assert converted == {"value": result, "unit": new}
        refused = desk.refused(f"convert_{kind}", value=value, from_unit="cubits", to_unit=new)
        assert "from_unit must be one of" in refused
    assert "zero" in desk.refused("convert_temperature", value=-300, from_unit="celsius", to_unit="kelvin")


def test_numbers_and_days_are_counted(desk: Desk) -> None:
    assert desk.reads("total_of", values=[0.1, 0.2, 7]) == {"value": 7.3}
    assert desk.reads("average_of", values=[1, 2]) == {"value": 1.5}
    assert "empty" in desk.refused("total_of", values=[])
    assert "empty" in desk.refused("average_of", values=[])
    assert "list of a number" in desk.refused("total_of", values=[1, "2"])
    assert desk.reads("percent_of", amount=80, percent=15) == {"value": 12.0}
    assert "a number" in desk.refused("percent_of", amount="80", percent=15)
    assert desk.reads("days_between", start="2026-02-27", end="2026-03-01") == {"days": 2}
    assert "before start" in desk.refused("days_between", start="2026-03-01", end="2026-02-27")
    assert "YYYY-MM-DD" in desk.refused("days_between", start="March 1", end="2026-02-27")
