"""Functions of floats on tiles, in float32: functions of the tensor unit, and others as a few instructions."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import TYPE_CHECKING

from tile_tpu.lowering.commands.frames import Tile, Value
from tile_tpu.lowering.expressions.selects import compare, if_number
from tilecore.ir.build import const

if TYPE_CHECKING:
    from tile_tpu.lowering.expressions.values import Values

TABLES = {"exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tanh": "exp", "sigmoid": "exp"}
# coefficients in every lane, as the vendor's tpu_bdc_load_fp_exp_coeff and its kin write them
TABLE_ELEMENTS = {"exp": 32, "log": 64, "sin": 32, "cos": 32, "erf": 32}
_WORK = {"exp": 2, "log": 1, "sin": 1, "cos": 1, "tanh": 2, "sigmoid": 2}


def _simple(name: str) -> Callable[[Values, Tile], Tile]:
    """A function that is one instruction without a table."""

    def run(values: Values, x: Tile) -> Tile:
        result = values.emit.new(x.axes, "float32")
        values.emit.emit(name, result.view, values.emit.aligned(x, x.axes))
        return result

    return run


def _with_table(name: str) -> Callable[[Values, Tile], Tile]:
    def run(values: Values, x: Tile) -> Tile:
        emit = values.emit
        table = emit.table(TABLES[name], TABLE_ELEMENTS[TABLES[name]])
        work = [emit.new(x.axes, "float32", "work").view for _ in range(_WORK[name])]
        result = emit.new(x.axes, "float32")
        emit.emit(name, result.view, emit.aligned(x, x.axes), *work, table)
        return result

    return run


def _erf_of(values: Values, x: Tile) -> Tile:
    emit = values.emit
    tables = [emit.table(name, TABLE_ELEMENTS[name]) for name in ("exp", "erf")]
    work = [emit.new(x.axes, "float32", "work").view for _ in range(3)]
    result = emit.new(x.axes, "float32")
    emit.emit("erf", result.view, emit.aligned(x, x.axes), *work, *tables)
    return result


def _exact(
    function: Callable[[Values, Tile], Tile], *cases: tuple[str, float, float]
) -> Callable[[Values, Tile], Tile]:
    """A function with exact values in special cases, in which the unit's result differs. A case (test, number, value)
    applies where x is "greater", "less" or "not greater" than the number. NaN gives NaN. With fast math the unit's
    results stay."""

    def run(values: Values, x: Tile) -> Tile:
        result = function(values, x)
        if values.emit.fast:
            return result
        for test, number, value in cases:
            bound, special_value = const(number, "float32"), const(value, "float32")
            a, b = (bound, x) if test == "less" else (x, bound)
            yes, no = (result, special_value) if test == "not greater" else (special_value, result)
            result = compare(values, "greater", a, b, yes, no, "float32")
        return if_number(values, x, result, x, "float32")

    return run


_INFINITE, _NAN, _LARGEST = float("inf"), float("nan"), 3.4028234663852886e38
_LAST_OF_EXP = 89.0  # exp of larger numbers is infinite


def _exp(values: Values, x: Tile) -> Tile:
    """exp. The unit gives infinity of either sign for large numbers, and 0 for NaN. So where x is not at most 89, the
    result is x times the largest float32."""
    exponential = _with_table("exp")(values, x)
    if values.emit.fast:
        return exponential
    large = values.apply("mul", [x, const(_LARGEST, "float32")], "float32")
    return compare(values, "less", const(_LAST_OF_EXP, "float32"), x, large, exponential, "float32")


def _scaled(values: Values, x: Tile, factor: float) -> Tile:
    return values.apply("mul", [x, const(factor, "float32")], "float32")


def _rescaled(
    values: Values,
    function: Callable[[Values, Tile], Tile],
    x: Tile,
    outside: tuple[Value, Value],
    factor: float,
    restored: Callable[[Tile], Tile],
) -> Tile:
    """``function(x)``, also outside of the range in which the unit's function is right. Where the first of ``outside``
    is greater than the second, it is ``restored(function(x * factor))``. With fast math it is the unit's result."""
    if values.emit.fast:
        return function(values, x)
    result = function(values, compare(values, "greater", *outside, _scaled(values, x, factor), x, "float32"))
    return compare(values, "greater", *outside, restored(result), result, "float32")


def _log_of_all(values: Values, x: Tile) -> Tile:
    """The logarithm of all positive numbers. The unit gives -inf from about 2^127.4 on."""

    def restored(scaled_log: Tile) -> Tile:
        return values.apply("add", [scaled_log, const(64 * log(2), "float32")], "float32")

    return _rescaled(values, _with_table("log"), x, (x, const(2.0**100, "float32")), 2.0**-64, restored)


_log = _exact(_log_of_all, ("not greater", 0.0, -_INFINITE), ("less", 0.0, _NAN), ("greater", _LARGEST, _INFINITE))


def _exp2(values: Values, x: Tile) -> Tile:
    return _exp(values, _scaled(values, x, log(2)))


def _exp10(values: Values, x: Tile) -> Tile:
    return _exp(values, _scaled(values, x, log(10)))


def _log2(values: Values, x: Tile) -> Tile:
    """log2. A result that is within the logarithm's error of an integer is rounded to it, so that log2 of powers of two
    is exact."""
    logarithm = _scaled(values, _log(values, x), 1 / log(2))
    if values.emit.fast:
        return logarithm
    whole = _simple("round")(values, logarithm)
    off = _simple("abs")(values, values.apply("sub", [logarithm, whole], "float32"))
    bound = _scaled(values, _simple("abs")(values, logarithm), 4e-7)
    return compare(values, "greater", off, bound, logarithm, whole, "float32")


def _log10(values: Values, x: Tile) -> Tile:
    return _scaled(values, _log(values, x), 1 / log(10))


def _log1p(values: Values, x: Tile) -> Tile:
    """log1p: log(u) (x / (u - 1)) with u = 1 + x rounded, whose errors cancel (Kahan, "Mathematics Written in Sand",
    1983). It is x where u is 1, and log(u) where x is so large that u - 1 equals x."""
    unity = const(1.0, "float32")
    u = values.apply("add", [x, unity], "float32")
    ratio = values.apply("div", [x, values.apply("sub", [u, unity], "float32")], "float32")
    log_of_sum = _log(values, u)
    corrected = compare(values, "equal", u, unity, x, values.apply("mul", [log_of_sum, ratio], "float32"), "float32")
    return compare(values, "greater", x, const(2.0**24, "float32"), log_of_sum, corrected, "float32")


def _trunc(values: Values, x: Tile) -> Tile:
    down, up = (_simple(name)(values, x) for name in ("floor", "ceil"))
    return compare(values, "greater", x, const(0.0, "float32"), down, up, "float32")


def _rsqrt_of_all(values: Values, x: Tile) -> Tile:
    """rsqrt of all positive numbers. The unit's result is wrong below 2^-125, where it flushes half of x to 0."""

    def restored(scaled_rsqrt: Tile) -> Tile:
        return _scaled(values, scaled_rsqrt, 2.0**12)

    return _rescaled(values, _simple("rsqrt"), x, (const(2.0**-100, "float32"), x), 2.0**24, restored)


FUNCTIONS: dict[str, Callable[..., Tile]] = {
    "exp": _exp,
    "exp2": _exp2,
    "exp10": _exp10,
    "log": _log,
    "log2": _log2,
    "log10": _log10,
    "log1p": _log1p,
    "erf": _exact(_erf_of),
    "sin": _exact(_with_table("sin"), ("greater", _LARGEST, _NAN), ("less", -_LARGEST, _NAN)),
    "cos": _exact(_with_table("cos"), ("greater", _LARGEST, _NAN), ("less", -_LARGEST, _NAN)),
    "tanh": _exact(_with_table("tanh")),
    "sigmoid": _exact(_with_table("sigmoid")),
    "sqrt": _exact(_simple("sqrt"), ("greater", _LARGEST, _INFINITE)),
    "rsqrt": _exact(_rsqrt_of_all),
    "fabs": _simple("abs"),
    "floor": _simple("floor"),
    "ceil": _simple("ceil"),
    "trunc": _trunc,
    "nearbyint": _simple("round"),
    "round": _simple("round"),
}
