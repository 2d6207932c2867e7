"""Units and small sums. Results are rounded to two decimals."""

from collections.abc import Mapping
from datetime import date
from typing import Any, Literal

from iad_envs.toolcalls.worlds.functions import After, FunctionWorld, Refused, Result

Length = Literal["metres", "kilometres", "centimetres", "miles", "feet", "inches"]
Weight = Literal["kilograms", "grams", "pounds", "ounces"]
Volume = Literal["litres", "millilitres", "gallons", "pints"]
Temperature = Literal["celsius", "fahrenheit", "kelvin"]

UnitsState = tuple[()]
"""Nothing is kept."""


class UnitsWorld(FunctionWorld[UnitsState]):
    """Eight functions without a state."""

    name = "Units"

    def load(self, config: Mapping[str, Any], *, long_context: bool = False) -> UnitsState:
        """Return the state at the start."""
        return ()

    def public(self, state: UnitsState) -> Mapping[str, Any]:
        """Return what a checker compares."""
        return {}

    def convert_length(self, state: UnitsState, value: float, from_unit: Length, to_unit: Length) -> After[UnitsState]:
        """Convert a length."""
        metres = {
            "metres": 1,
            "kilometres": 1000,
            "centimetres": 0.01,
            "miles": 1609.344,
            "feet": 0.3048,
            "inches": 0.0254,
        }
        return state, _converted(value * metres[from_unit] / metres[to_unit], to_unit)

    def convert_weight(self, state: UnitsState, value: float, from_unit: Weight, to_unit: Weight) -> After[UnitsState]:
        """Convert a weight."""
        kilograms = {"kilograms": 1, "grams": 0.001, "pounds": 0.45359237, "ounces": 0.028349523125}
        return state, _converted(value * kilograms[from_unit] / kilograms[to_unit], to_unit)

    def convert_volume(self, state: UnitsState, value: float, from_unit: Volume, to_unit: Volume) -> After[UnitsState]:
        """Convert a volume."""
        litres = {"litres": 1, "millilitres": 0.001, "gallons": 3.785411784, "pints": 0.473176473}
        return state, _converted(value * litres[from_unit] / litres[to_unit], to_unit)

    def convert_temperature(
        self, state: UnitsState, value: float, from_unit: Temperature, to_unit: Temperature
    ) -> After[UnitsState]:
        """Convert a temperature."""
        scales: Mapping[str, tuple[float, float]] = {
            "celsius": (1, 273.15),
            "fahrenheit": (5 / 9, 459.67 * 5 / 9),
            "kelvin": (1, 0),
        }
        (factor, offset), (to_factor, to_offset) = scales[from_unit], scales[to_unit]
        kelvin = value * factor + offset
        if kelvin < 0:
            raise Refused(f"value must not be below absolute zero, got {value} {from_unit}.")
        return state, _converted((kelvin - to_offset) / to_factor, to_unit)

    def total_of(self, state: UnitsState, values: list[float]) -> After[UnitsState]:
        """Add numbers."""
        return state, {"value": _rounded(sum(_some(values)))}

    def average_of(self, state: UnitsState, values: list[float]) -> After[UnitsState]:
        """Average numbers."""
        return state, {"value": _rounded(sum(_some(values)) / len(values))}

    def percent_of(self, state: UnitsState, amount: float, percent: float) -> After[UnitsState]:
        """Take a percentage."""
        return state, {"value": _rounded(amount * percent / 100)}

    def days_between(self, state: UnitsState, start: str, end: str) -> After[UnitsState]:
        """Count days."""
        days = (_date("end", end) - _date("start", start)).days
        if days < 0:
            raise Refused(f"end must not be before start, got {start} and {end}.")
        return state, {"days": days}


def _converted(value: float, unit: str) -> Result:
    return {"value": _rounded(value), "unit": unit}


def _rounded(value: float) -> float:
    return round(float(value), 2)


def _some(values: list[float]) -> list[float]:
    if not values:
        raise Refused("values must not be empty.")
    return values


def _date(name: str, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Refused(f"{name} must be a date as YYYY-MM-DD, got {text!r}.") from None
