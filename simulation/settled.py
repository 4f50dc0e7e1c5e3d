"""Checks what must be true once nothing disturbs the system any more."""

from coordinate.report import Result

from integers.lattice import places

from .checked import CheckedWorld


class Stuck(AssertionError):
    """Left alone, the system did not settle."""


def check_settled(world: CheckedWorld, result: Result) -> None:
    """Check that every counter has the layout that was asked for, in every region that answers.

    Raises:
        Stuck: it has not.
        Duplicate: what it mints then was minted before.
    """
    record = world.layouts.record
    if record is None or record.home != world.layouts.id or not record.settled:
        raise Stuck(f"the record isn't settled: {record}")
    for counter, outcome in result.outcomes.items():
        register = world.layouts.registers[counter]
        if register.home != world.layouts.id or register.regions != record.wish.regions:
            raise Stuck(f"not what was asked for: {register}, {record}")
        copy = world.mirror.copies.get(counter)
        if copy is None or copy.register != register or copy.mirror != world.mirror.id:
            raise Stuck(f"the mirror has {copy}, the layouts table {register}")
        for (region, place), id_ in zip(places(register.regions).items(), register.ids, strict=True):
            table = world.tables.get(region)
            if table is None or region in world.away:
                if region not in outcome.pending:
                    raise Stuck(f"{region} doesn't answer, but isn't pending")
                continue
            item = table.counters[counter].item
            if item is None or item.fenced or item.opening or (item.epoch, table.id) != (register.epoch, id_):
                raise Stuck(f"{region} has {item} in {table.id}, the register is {register}")
            if table.counters[counter].layouts != register.layouts:
                raise Stuck(f"{region} has outdated layouts on record: {table.counters[counter].layouts}")
            if item.ceiling > register.limit:
                raise Stuck(f"{region} has {item}, above the limit of {register}")
            for _ in range(5):
                integer = world.mint(region, counter)
                if integer is None or integer < register.base or (integer - place.offset) % place.stride:
                    raise Stuck(f"{region} mints {integer} of {register}")
        for region in record.wish.leaving:
            table = world.tables.get(region)
            kept = table.counters.get(counter) if table else None
            if region not in world.away and kept and kept.item and kept.item.issued < kept.item.ceiling:
                raise Stuck(f"{region} has left, but mints: {kept.item}")
