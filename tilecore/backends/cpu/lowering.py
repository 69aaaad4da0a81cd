"""How the ``cpu`` target lowers: the loops family, with the processor's dot products and tile registers for narrow
types, and with operands and results of matrix products where a core reads and writes them fastest."""

from __future__ import annotations

from tilecore.backends.cpu import amx, dot_products
from tilecore.backends.cpu.prefetch_rows import PREFETCH_ROWS
from tilecore.contract.passes import PassEdit
from tilecore.contract.records import Lowering
from tilecore.lowering.loops.accumulate_in_place import ACCUMULATE_IN_PLACE
from tilecore.lowering.loops.copy_in_passing import COPY_IN_PASSING
from tilecore.lowering.loops.fold_masks import FOLD_MASKS
from tilecore.lowering.loops.fold_scales import FOLD_SCALES
from tilecore.lowering.loops.forward_copies import FORWARD_COPIES
from tilecore.lowering.loops.hoist_copies import HOIST_COPIES
from tilecore.lowering.loops.read_in_place import READ_IN_PLACE
from tilecore.lowering.loops.recognize_fills import RECOGNIZE_FILLS
from tilecore.lowering.loops.widen_operands import WIDEN_OPERANDS

LOWERING = Lowering(
    family="loops",
    implementations=(*amx.IMPLEMENTATIONS, *dot_products.IMPLEMENTATIONS),
    edits=(
        PassEdit("insert", "before_tile_ops", RECOGNIZE_FILLS),
        PassEdit("insert", "before_tile_ops", FOLD_MASKS),
        PassEdit("insert", "separate_overlaps", FORWARD_COPIES),
        PassEdit("insert", "separate_overlaps", READ_IN_PLACE),
        PassEdit("insert", "separate_overlaps", WIDEN_OPERANDS),
        PassEdit("insert", "separate_overlaps", HOIST_COPIES),
        PassEdit("insert", "separate_overlaps", COPY_IN_PASSING),
        PassEdit("insert", "separate_overlaps", ACCUMULATE_IN_PLACE),
        PassEdit("insert", "separate_overlaps", FOLD_SCALES),
        PassEdit("insert", "before_outline", PREFETCH_ROWS),
    ),
)
