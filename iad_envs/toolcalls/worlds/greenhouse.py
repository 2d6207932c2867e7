"""A greenhouse: zones with a climate, beds, what grows in them, seeds, and a tank of water."""

from functools import cache
from typing import NamedTuple

from iad_envs.toolcalls.worlds.functions import After, FunctionWorld, Refused, known, replaced, without


class ClimateZone(NamedTuple):
    """A part of the house with its own heating: degrees Celsius and percent."""

    zone: str
    temperature: float = 18.0
    humidity: int = 60


class GardenBed(NamedTuple):
    """A bed, with its area in square metres and its moisture in percent."""

    bed_id: str
    zone: str
    area_m2: float = 2.0
    moisture: int = 40


class Planting(NamedTuple):
    """Plants of one species in one bed."""

    planting_id: str
    species: str
    bed_id: str
    plants: int
    is_ripe: bool = False


class SeedStock(NamedTuple):
    """Seeds that are left of a species."""

    species: str
    seeds: int


class GreenhouseState(NamedTuple):
    """What the greenhouse knows."""

    next_number: int = 1
    tank_litres: float = 500.0
    zones: tuple[ClimateZone, ...] = ()
    beds: tuple[GardenBed, ...] = ()
    plantings: tuple[Planting, ...] = ()
    stock: tuple[SeedStock, ...] = ()


class GreenhouseWorld(FunctionWorld[GreenhouseState]):
    """Ten functions of a greenhouse."""

    name = "Greenhouse"
    state = GreenhouseState
    lasting = frozenset(("harvest_planting",))

    def find_beds(self, state: GreenhouseState, zone: str) -> After[GreenhouseState]:
        """List a zone's beds."""
        _zone(state, zone)
        taken = {one.bed_id for one in state.plantings}
        beds = [
            {"bed_id": bed.bed_id, "area_m2": bed.area_m2, "is_free": bed.bed_id not in taken}
            for bed in state.beds
            if bed.zone == zone
        ]
        return state, {"beds": beds}

    def inspect_bed(self, state: GreenhouseState, bed_id: str) -> After[GreenhouseState]:
        """Describe a bed."""
        bed = known(state.beds, bed_id, "bed")
        planting = _planting_in(state, bed_id)
        grows = (planting.planting_id, planting.species) if planting else ("", "")
        return state, bed._asdict() | {"planting_id": grows[0], "species": grows[1]}

    def find_plantings(self, state: GreenhouseState, species: str) -> After[GreenhouseState]:
        """Find a species' plantings."""
        plantings = [
            {"planting_id": one.planting_id, "bed_id": one.bed_id, "count": one.plants, "is_ripe": one.is_ripe}
            for one in state.plantings
            if one.species == species.strip().lower()
        ]
        if not plantings:
            raise Refused(f"No {species!r} grows here.")
        return state, {"plantings": plantings}

    def count_seeds(self, state: GreenhouseState, species: str) -> After[GreenhouseState]:
        """Count a species' seeds."""
        return state, _stock(state, species)._asdict()

    def sow_seeds(self, state: GreenhouseState, bed_id: str, species: str, count: int) -> After[GreenhouseState]:
        """Sow seeds."""
        bed, stock = known(state.beds, bed_id, "bed"), _stock(state, species)
        _must_be_free(state, bed_id)
        most = min(stock.seeds, int(bed.area_m2 * 40))  # plants on a square metre
        if not 1 <= count <= most:
            raise Refused(f"count must be 1 to {most} for {species} in {bed_id}, got {count}.")
        left = stock._replace(seeds=stock.seeds - count)
        new = Planting(f"PL-{state.next_number}", stock.species, bed_id, count)
        after = state._replace(
            next_number=state.next_number + 1,
            plantings=(*state.plantings, new),
            stock=replaced(state.stock, left),
        )
        return after, {"planting_id": new.planting_id, "seeds": left.seeds}

    def water_bed(self, state: GreenhouseState, bed_id: str, litres: float) -> After[GreenhouseState]:
        """Water a bed."""
        bed = known(state.beds, bed_id, "bed")
        if not 0 < litres <= state.tank_litres:
            raise Refused(f"litres must be more than 0 and at most {state.tank_litres}, got {litres}.")
        # A litre adds 4 percent on a square metre.
        moisture = min(100, bed.moisture + round(litres / bed.area_m2 * 4))
        left = round(state.tank_litres - litres, 2)
        after = state._replace(beds=replaced(state.beds, bed._replace(moisture=moisture)), tank_litres=left)
        return after, {"bed_id": bed_id, "moisture": moisture, "tank_litres": left}

    def read_climate(self, state: GreenhouseState, zone: str) -> After[GreenhouseState]:
        """Tell a zone's climate."""
        return state, _zone(state, zone)._asdict()

    def set_climate(
        self, state: GreenhouseState, zone: str, temperature: float, humidity: int = 60
    ) -> After[GreenhouseState]:
        """Set a zone's climate."""
        old = _zone(state, zone)
        if not 5 <= temperature <= 35:
            raise Refused(f"temperature must be 5 to 35 degrees Celsius, got {temperature}.")
        if not 20 <= humidity <= 95:
            raise Refused(f"humidity must be 20 to 95 percent, got {humidity}.")
        new = old._replace(temperature=float(temperature), humidity=humidity)
        return state._replace(zones=replaced(state.zones, new)), new._asdict()

    def harvest_planting(self, state: GreenhouseState, planting_id: str) -> After[GreenhouseState]:
        """Harvest a planting."""
        planting = known(state.plantings, planting_id, "planting")
        if not planting.is_ripe:
            raise Refused(f"{planting_id} is not ripe.")
        after = state._replace(plantings=without(state.plantings, planting_id))
        grams = planting.plants * 120
        return after, {"species": planting.species, "bed_id": planting.bed_id, "grams": grams}

    def transplant(self, state: GreenhouseState, planting_id: str, bed_id: str) -> After[GreenhouseState]:
        """Move a planting."""
        planting, bed = known(state.plantings, planting_id, "planting"), known(state.beds, bed_id, "bed")
        _must_be_free(state, bed_id)
        if planting.plants > bed.area_m2 * 40:
            raise Refused(f"{bed_id} is too small for {planting.plants} plants.")
        after = state._replace(plantings=replaced(state.plantings, planting._replace(bed_id=bed_id)))
        return after, {"planting_id": planting_id, "from_bed": planting.bed_id, "to_bed": bed_id}


def _zone(state: GreenhouseState, zone: str) -> ClimateZone:
    return known(state.zones, zone.strip().lower(), "zone")


def _stock(state: GreenhouseState, species: str) -> SeedStock:
    return known(state.stock, species.strip().lower(), "seed of")


def _planting_in(state: GreenhouseState, bed_id: str) -> Planting | None:
    return next((one for one in state.plantings if one.bed_id == bed_id), None)


def _must_be_free(state: GreenhouseState, bed_id: str) -> None:
    planting = _planting_in(state, bed_id)
    if planting:
        raise Refused(f"{bed_id} is not free, {planting.species} grows in it.")


@cache
def more_beds() -> tuple[GardenBed, ...]:
    """Return the beds of a long context."""
    return tuple(GardenBed(f"BD-{9000 + number}", f"outdoor field {number // 40 + 1}") for number in range(240))


@cache
def more_plantings() -> tuple[Planting, ...]:
    """Return what grows in the beds of a long context."""
    return tuple(
        Planting(f"PL-{9000 + number}", "meadow grass", bed.bed_id, 60) for number, bed in enumerate(more_beds())
    )


GreenhouseWorld.more = {"beds": more_beds, "plantings": more_plantings}
