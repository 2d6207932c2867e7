"""Turns in the greenhouse."""

from typing import Any

from story import Said, Story, Unfit, only, turn


def bed_with(story: Story) -> tuple[Any, Any]:
    """Draw a bed in which something grows, and what."""
    state = story.state("Greenhouse")
    planting = story.new(state.plantings)
    return story.new(bed for bed in state.beds if bed.bed_id == planting.bed_id), planting


def free_bed(story: Story) -> Any:
    """Draw a bed that is the only free one of its zone."""
    state = story.state("Greenhouse")
    taken = {one.bed_id for one in state.plantings}
    bed = story.new(bed for bed in state.beds if bed.bed_id not in taken)
    only(one for one in state.beds if one.zone == bed.zone and one.bed_id not in taken)
    return bed


def seeds(story: Story) -> Any:
    """Draw seeds that no turn was about."""
    return story.new(story.state("Greenhouse").stock)


@turn("plain", "Greenhouse")
def water(story: Story) -> Said:
    """Water a bed."""
    bed, litres = story.new(story.state("Greenhouse").beds), story.draw.integer((3, 18))
    story.call("water_bed", bed_id=bed.bed_id, litres=litres)
    story.note(bed=bed.bed_id)
    return {"bed": bed.bed_id, "litres": litres}


@turn("looked_up", "Greenhouse")
def water_species(story: Story) -> Said:
    """Water the bed where a species grows."""
    bed, planting = bed_with(story)
    litres = story.draw.integer((3, 18))
    where = only(story.call("find_plantings", species=planting.species)["plantings"])["bed_id"]
    story.call("water_bed", bed_id=where, litres=litres)
    story.note(bed=bed.bed_id)
    return {"species": planting.species, "litres": litres}


@turn("follows", "Greenhouse")
def water_that(story: Story) -> Said:
    """Water the bed the turn before was about."""
    litres = story.draw.integer((3, 18))
    story.call("water_bed", bed_id=story.recall("bed"), litres=litres)
    return {"litres": litres}


@turn("plain", "Greenhouse")
def inspect(story: Story) -> Said:
    """Ask about a bed."""
    bed = story.new(story.state("Greenhouse").beds)
    story.call("inspect_bed", bed_id=bed.bed_id)
    story.note(bed=bed.bed_id)
    return {"bed": bed.bed_id}


@turn("looked_up", "Greenhouse")
def inspect_species(story: Story) -> Said:
    """Ask about the bed where a species grows."""
    bed, planting = bed_with(story)
    where = only(story.call("find_plantings", species=planting.species)["plantings"])["bed_id"]
    story.call("inspect_bed", bed_id=where)
    story.note(bed=bed.bed_id)
    return {"species": planting.species}


@turn("plain", "Greenhouse")
def climate(story: Story) -> Said:
    """Set a climate."""
    zone = story.new(story.state("Greenhouse").zones)
    degrees, humidity = story.draw.integer((12, 29)), 5 * story.draw.one((8, 9, 10, 11, 13, 14, 15, 16))
    story.call("set_climate", zone=zone.zone, temperature=degrees, humidity=humidity)
    return {"zone": zone.zone, "degrees": degrees, "humidity": humidity}


@turn("plain", "Greenhouse")
def warmth(story: Story) -> Said:
    """Set a temperature, with the usual humidity."""
    zone, degrees = story.new(story.state("Greenhouse").zones), story.draw.integer((12, 29))
    story.call("set_climate", zone=zone.zone, temperature=degrees)
    return {"zone": zone.zone, "degrees": degrees}


@turn("plain", "Greenhouse")
def ask_climate(story: Story) -> Said:
    """Ask for a climate."""
    zone = story.new(story.state("Greenhouse").zones)
    found = story.call("read_climate", zone=zone.zone)
    story.note(zone=zone.zone, humidity=found["humidity"])
    return {"zone": zone.zone}


@turn("follows", "Greenhouse")
def copy_humidity(story: Story) -> Said:
    """Give another zone the humidity the turn before told."""
    humidity = story.recall("humidity")
    zone, degrees = story.new(story.state("Greenhouse").zones), story.draw.integer((12, 29))
    story.call("set_climate", zone=zone.zone, temperature=degrees, humidity=humidity)
    return {"zone": zone.zone, "degrees": degrees}


@turn("plain", "Greenhouse")
def sow(story: Story) -> Said:
    """Sow some seeds."""
    bed, stock = free_bed(story), seeds(story)
    count = story.draw.integer((8, stock.seeds - 2))
    story.call("sow_seeds", bed_id=bed.bed_id, species=stock.species, count=count)
    story.note(bed=bed.bed_id)
    return {"bed": bed.bed_id, "species": stock.species, "count": count}


@turn("looked_up", "Greenhouse")
def sow_in_zone(story: Story) -> Said:
    """Sow into the free bed of a zone."""
    bed, stock = free_bed(story), seeds(story)
    count = story.draw.integer((8, stock.seeds - 2))
    beds = story.call("find_beds", zone=bed.zone)["beds"]
    where = only(one for one in beds if one["is_free"])["bed_id"]
    story.call("sow_seeds", bed_id=where, species=stock.species, count=count)
    story.note(bed=where)
    return {"zone": bed.zone, "species": stock.species, "count": count}


@turn("looked_up", "Greenhouse")
def sow_all(story: Story) -> Said:
    """Sow all seeds that are left."""
    bed, stock = free_bed(story), seeds(story)
    count = story.call("count_seeds", species=stock.species)["seeds"]
    story.call("sow_seeds", bed_id=bed.bed_id, species=stock.species, count=count)
    story.note(bed=bed.bed_id)
    return {"bed": bed.bed_id, "species": stock.species}


@turn("plain", "Greenhouse")
def ask_seeds(story: Story) -> Said:
    """Ask how many seeds are left."""
    stock = seeds(story)
    story.call("count_seeds", species=stock.species)
    return {"species": stock.species}


@turn("plain", "Greenhouse")
def ask_beds(story: Story) -> Said:
    """Ask for the beds of a zone."""
    zone = story.new(story.state("Greenhouse").zones)
    story.call("find_beds", zone=zone.zone)
    return {"zone": zone.zone}


@turn("plain", "Greenhouse")
def harvest(story: Story) -> Said:
    """Harvest a planting."""
    planting = story.new(one for one in story.state("Greenhouse").plantings if one.is_ripe)
    story.note(free=story.call("harvest_planting", planting_id=planting.planting_id)["bed_id"])
    return {"planting": planting.planting_id}


@turn("looked_up", "Greenhouse")
def harvest_species(story: Story) -> Said:
    """Harvest a species."""
    planting = story.new(one for one in story.state("Greenhouse").plantings if one.is_ripe)
    found = only(story.call("find_plantings", species=planting.species)["plantings"])
    story.note(free=story.call("harvest_planting", planting_id=found["planting_id"])["bed_id"])
    return {"species": planting.species}


@turn("follows", "Greenhouse")
def sow_after(story: Story) -> Said:
    """Sow into the bed that was harvested in the turn before."""
    bed, stock = story.recall("free"), seeds(story)
    count = story.draw.integer((8, stock.seeds - 2))
    story.call("sow_seeds", bed_id=bed, species=stock.species, count=count)
    story.note(bed=bed)
    return {"species": stock.species, "count": count}


@turn("plain", "Greenhouse")
def move_planting(story: Story) -> Said:
    """Move a planting."""
    _, planting = bed_with(story)
    bed = free_bed(story)
    story.call("transplant", planting_id=planting.planting_id, bed_id=bed.bed_id)
    story.note(bed=bed.bed_id)
    return {"planting": planting.planting_id, "bed": bed.bed_id}


@turn("looked_up", "Greenhouse")
def move_species(story: Story) -> Said:
    """Move a species into the free bed of a zone."""
    where, planting = bed_with(story)
    bed = free_bed(story)
    if bed.zone == where.zone:
        raise Unfit
    found = only(story.call("find_plantings", species=planting.species)["plantings"])
    beds = story.call("find_beds", zone=bed.zone)["beds"]
    free = only(one for one in beds if one["is_free"])["bed_id"]
    story.call("transplant", planting_id=found["planting_id"], bed_id=free)
    story.note(bed=free)
    return {"species": planting.species, "zone": bed.zone}
