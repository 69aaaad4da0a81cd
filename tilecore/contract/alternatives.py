"""Names alternatives to tile operations and features that a target does not have."""

from tilecore.ir.tile_op_table import TILE_OPS

FEATURES = {
    "atomics": TILE_OPS["atomic"].instead,
    "compare_and_swap": "T.atomic_add, T.atomic_max and the others where one of them will do",
    "directed_rounding": "rounding_mode='rn', to nearest even",
    "print": TILE_OPS["print"].instead,
    "device_assert": TILE_OPS["device_assert"].instead,
    "dynamic_shapes": "sizes that are numbers: one kernel for each shape that is needed",
    "dynamic_shared": "constant sizes of T.alloc_shared, and loop over the axis",
    "pointers": "tensors that are parameters, one for each pointer, or all parts in one tensor",
    "source": "operations of the language, which every target has",
}


def instead_of(op: str) -> str | None:
    """A hint with the alternative to a tile operation; None where there is none."""
    return f"use {TILE_OPS[op].instead}" if op in TILE_OPS and TILE_OPS[op].instead else None


def instead_of_feature(name: str) -> str | None:
    """A hint with the alternative to a feature; None where there is none."""
    return f"use {FEATURES[name]}" if name in FEATURES else None
