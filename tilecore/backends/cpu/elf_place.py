"""What a relocation knows, and how values are written; shared by the machines' relocations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.errors import ToolchainError


class Record:
    """Fields in the order in which the class declares them.

    NamedTuples would do, but making six of them takes a tenth of the first call of a cached kernel.
    """

    fields: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        cls.fields = tuple(cls.__annotations__)

    def __init__(self, *values: Any, **named: Any) -> None:
        if not named and len(values) == len(self.fields):
            self.__dict__.update(zip(self.fields, values, strict=True))
            return
        fields = dict(zip(self.fields, values, strict=False)) | named
        if fields.keys() != set(self.fields) or len(values) + len(named) != len(self.fields):
            raise TypeError(f"{type(self).__name__} takes {', '.join(self.fields)}")
        self.__dict__.update(fields)


class Place(Record):
    """One relocation of a machine, resolved.

    image: the bytes of the whole object as they will lie in memory; at: index of the place in it; address: of the
    place in memory. symbol: its address; size: of the symbol. addend: as in the object.
    got: address of the global offset table; got_entry: gives the address of the symbol's entry in it.
    stub: gives the address of code that jumps to the symbol. is_external: the symbol is outside the object.
    end: where the place's section ends in ``image``.
    """

    image: bytearray
    at: int
    address: int
    symbol: int
    size: int
    addend: int
    got: int
    got_entry: Callable[[], int]
    stub: Callable[[], int]
    is_external: bool
    name: str
    end: int

    def write(self, value: int, width: int, *, signed: bool | None) -> None:
        """Write ``value`` in ``width`` bytes. signed: None allows what fits with or without a sign."""
        bits = 8 * width
        low = 0 if signed is False else -(1 << bits - 1)
        high = 1 << (bits - 1 if signed else bits)
        if width < 8 and not low <= value < high:
            raise self.too_far(f"{value:#x} does not fit {bits} bits")
        self.room(width)
        self.image[self.at : self.at + width] = (value & ((1 << bits) - 1)).to_bytes(width, "little")

    def read(self, width: int) -> int:
        self.room(width)
        return int.from_bytes(self.image[self.at : self.at + width], "little")

    def room(self, width: int) -> None:
        if self.at + width > self.end:
            raise ToolchainError("the object file is malformed: a relocation reaches past the end of its section")

    def too_far(self, why: str) -> ToolchainError:
        return ToolchainError(
            f"the object file cannot be loaded: {self.name or 'a section'} is out of reach ({why})",
            hint="compile it as position-independent code (PIC) of the small code model",
        )
