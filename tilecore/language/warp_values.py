"""Values of the lanes of a warp as bits: T.activemask, T.match_any_sync, T.match_all_sync, and the search for bits.

They are made of T.shfl_sync, T.ballot and arithmetic, so every target that has those has them. They return what
TileLang's documentation says of them.
"""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.nodes import Expr
from tilecore.language.conditions import select
from tilecore.language.conversions import convert
from tilecore.language.numeric import popcount
from tilecore.language.threads import WARP_SIZE, all_sync, ballot, check_mask, shfl_down, shfl_sync, shfl_up
from tilecore.language.values import as_expr
from tilecore.tracing.current import current

_ALL = 2**WARP_SIZE - 1


def activemask() -> Expr:
    """A uint64 whose bit i tells whether lane i of the warp runs this: all bits of the warp, as all its threads call
    it."""
    return convert(ballot(as_expr(1) > 0), "uint64")


def match_any_sync(value: Any, mask: Any = None) -> Expr:
    """A uint32 whose bit i tells whether lane i of the warp has the same ``value`` as the calling lane. mask: None or
    0xffffffff, all threads."""
    check_mask(mask, "T.match_any_sync")
    mine = current("T.match_any_sync").bind("value", as_expr(value))
    bits: Any = convert(0, "uint32")
    for lane in range(WARP_SIZE):
        is_same = shfl_sync(mine, lane) == mine
        bits = bits | (convert(is_same, "uint32") << convert(lane, "uint32"))
    return bits


def match_all_sync(value: Any, mask: Any = None) -> Expr:
    """0xffffffff where all lanes of the warp have the same ``value``, else 0, as a uint32. mask: None or 0xffffffff."""
    check_mask(mask, "T.match_all_sync")
    mine = current("T.match_all_sync").bind("value", as_expr(value))
    are_same = all_sync(shfl_sync(mine, 0) == mine)
    return select(are_same, convert(_ALL, "uint32"), convert(0, "uint32"))


def find_first_bit(value: Any) -> Expr:
    """``T.__ffs``: the number of the lowest bit of an integer that is 1, counted from 1; 0 where there is none; an
    int32."""
    bits = _integer(value, "T.__ffs")
    kind = str(bits.ty.dtype)
    lowest = bits & (convert(0, kind) - bits)
    place = popcount(lowest - convert(1, kind))  # the zeros below
    return select(bits == convert(0, kind), convert(0, "int32"), convert(place, "int32") + 1)


def find_nth_bit(mask: Any, base: Any, offset: Any) -> Expr:
    """``T.__fns``: the place, from 0, of a bit of ``mask`` (32 bits) that is 1, counted from the bit ``base``: the
    ``offset``-th from ``base`` upwards, downwards where ``offset`` is negative, and ``base`` itself where it is 0.

    A uint32; 0xffffffff where there is no such bit.
    """
    bits = convert(_integer(mask, "T.__fns"), "uint32")
    start, count = convert(_integer(base, "T.__fns"), "int32"), convert(_integer(offset, "T.__fns"), "int32")
    place: Any = convert(_ALL, "uint32")
    one = convert(1, "uint32")
    up = popcount_below(bits, start)
    down = popcount_below(bits, start + 1)
    for bit in range(WARP_SIZE):
        is_set = (bits >> convert(bit, "uint32")) & one == one
        number = convert(popcount(bits & convert((1 << bit) - 1, "uint32")), "int32")  # set bits below
        upwards = (count > 0) & (as_expr(bit) >= start) & (number - up == count - 1)
        downwards = (count < 0) & (as_expr(bit) <= start) & (down - number == 0 - count)
        here = (count == 0) & (start == bit)
        place = select(is_set & (upwards | downwards | here), convert(bit, "uint32"), place)
    return place


def popcount_below(bits: Expr, place: Any) -> Expr:
    """The number of bits of a uint32 that are 1 below the bit ``place``, an int32 from 0 to 32."""
    wide = convert(bits, "uint64") & ((convert(1, "uint64") << convert(place, "uint64")) - convert(1, "uint64"))
    return convert(popcount(wide), "int32")


def tvm_warp_shuffle(mask: Any, value: Any, warp_id: Any, width: int, warp_size: int) -> Expr:
    """TVM's form of T.shfl_sync(value, warp_id, width, mask); warp_size is 32."""
    return shfl_sync(value, warp_id, _width(width, warp_size), mask)


def tvm_warp_shuffle_up(mask: Any, value: Any, offset: Any, width: int, warp_size: int) -> Expr:
    """TVM's form of T.shfl_up(value, offset, width, mask); warp_size is 32."""
    return shfl_up(value, offset, _width(width, warp_size), mask)


def tvm_warp_shuffle_down(mask: Any, value: Any, offset: Any, width: int, warp_size: int) -> Expr:
    """TVM's form of T.shfl_down(value, offset, width, mask); warp_size is 32."""
    return shfl_down(value, offset, _width(width, warp_size), mask)


def _width(width: int, warp_size: int) -> int:
    if int(warp_size) != WARP_SIZE:
        raise LanguageError(f"a warp of {warp_size} lanes", expected=f"warps of {WARP_SIZE} lanes, on every target")
    return int(width)


def _integer(value: Any, subject: str) -> Expr:
    expression = as_expr(value)
    if not str(expression.ty.dtype).startswith(("int", "uint")):
        raise LanguageError(f"{subject} takes an integer", found=f"{expression}, a {expression.ty.dtype}")
    return expression
