"""Makes the tensors and numbers with which a random kernel is called, from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tilecore.dtypes import FACTS, dtype
from tilecore.testing.fuzz.printing import PADDING

if TYPE_CHECKING:
    import numpy

    from tilecore.testing.fuzz.program import Program


class Parameter(NamedTuple):
    """A parameter of a kernel. cap: its largest magnitude. form: as of a Buffer, or "number" for a scalar."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    cap: float
    form: str = ""


Facts = Sequence[Any]  # a Parameter, or a plain tuple of its fields


def tensors_of(program: Program) -> list[tuple[Any, ...]]:
    """The parameters of the program, as plain tuples of the fields of Parameter."""
    return [
        tuple(Parameter(p.name, program.shape(p), p.dtype, p.cap, "number" if p.scope == "scalar" else p.form))
        for p in program.params
    ]


def values_of(program: Program) -> str:
    """Which values floats have: whole numbers, special ones (any, also NaN and infinities) or fractions."""
    return "special" if program.special else "whole" if program.exact else "fractions"


def make_inputs(tensors: Sequence[Facts], seed: int, values: str) -> list[Any]:
    """Values for all parameters, including the tensors that are written."""
    import numpy

    rng = numpy.random.default_rng(seed)
    arguments: list[Any] = []
    for facts in tensors:
        parameter = Parameter(*facts)
        array = _random_values(rng, parameter, values)
        arguments.append(array.item() if parameter.form == "number" else with_form(array, parameter.form))
    return arguments


def _random_values(rng: numpy.random.Generator, parameter: Parameter, values: str) -> numpy.ndarray:
    import numpy

    facts, shape = FACTS[parameter.dtype], parameter.shape
    if facts.bits == 4:  # two in a byte
        packed = (*shape[:-1], shape[-1] // 2)
        return rng.integers(0, 256, packed, dtype=numpy.uint8).view("int8" if facts.kind == "int" else "uint8")
    kind = dtype(parameter.dtype).as_numpy()
    if facts.kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if facts.kind == "float":
        if values == "special":
            return _special(rng, shape, parameter.dtype)
        if values == "whole":
            return rng.integers(-int(parameter.cap), int(parameter.cap) + 1, shape).astype(numpy.float64).astype(kind)
        return numpy.asarray(rng.uniform(-parameter.cap, parameter.cap, shape)).astype(kind)
    info = numpy.iinfo(kind)
    low, high = max(info.min, -int(parameter.cap)), min(info.max, int(parameter.cap))
    if values == "special" and high == info.max:
        ends = numpy.array([info.min, info.min + 1, 0, 1, info.max - 1, info.max, info.max // 2], kind)
        return numpy.where(rng.random(shape) < 0.5, rng.choice(ends, shape), rng.integers(low, high, shape, dtype=kind))
    low = 0 if parameter.form == "number" and parameter.cap < 8 else low
    return numpy.asarray(rng.integers(low, high, shape, dtype=kind, endpoint=True))


def _special(rng: numpy.random.Generator, shape: tuple[int, ...], name: str) -> numpy.ndarray:
    """NaN, infinities, zeros of both signs, the largest and smallest values of the type, values that lie between two
    numbers of narrower types, and random bits."""
    import numpy

    facts, kind = FACTS[name], dtype(name).as_numpy()
    ends = [0.0, -0.0, 1.0, -1.5, 0.1, 2.5, -3.5, 127.5, -128.5, 255.5, 448.0, 464.0, 480.0, 2049.0, 65519.0, 65520.0]
    ends += [facts.max or 1.0, facts.min_normal or 1.0, (facts.min_normal or 1.0) / 2, 2.0**31, -(2.0**31), 2.0**63]
    ends += [1.0 + 2.0**-8, 1.0 + 2.0**-11 + 2.0**-30, 1.0 + 2.0**-4, 3.0e-8, 6.0e-8, -(2.0**-10), 1e9, -1e9]
    with numpy.errstate(all="ignore"):
        special_values = numpy.array([*ends, numpy.nan, numpy.inf, -numpy.inf]).astype(kind)
        bits = rng.integers(0, 256, (*shape, kind.itemsize), dtype=numpy.uint8)
        anything = bits.view(kind).reshape(shape)
        small = (rng.integers(-40, 41, shape) / 4).astype(kind)
    chosen = rng.integers(0, 4, shape)
    picked = special_values[rng.integers(0, len(special_values), shape)]
    return numpy.asarray(numpy.where(chosen < 2, picked, numpy.where(chosen == 2, anything, small)), dtype=kind)


def with_form(array: numpy.ndarray, form: str) -> numpy.ndarray:
    """The same values in memory of this form: padded rows, or column after column."""
    import numpy

    if form == "padded":
        whole = numpy.zeros((*array.shape[:-1], array.shape[-1] + PADDING), array.dtype)
        whole[..., : array.shape[-1]] = array
        return whole[..., : array.shape[-1]]
    return numpy.asfortranarray(array) if form == "columns" else array
