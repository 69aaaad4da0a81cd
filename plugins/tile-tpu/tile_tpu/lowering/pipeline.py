"""The pipeline of ``tpu``: edits of the loops family's pipeline."""

from __future__ import annotations

from tilecore.contract.passes import PassEdit
from tilecore.contract.records import Lowering


def lowering() -> Lowering:
    from tile_tpu.lowering.passes.address_tiles import ADDRESS_TILES
    from tile_tpu.lowering.passes.assign_layouts import ASSIGN_LAYOUTS
    from tile_tpu.lowering.passes.fill_unwritten import FILL_UNWRITTEN
    from tile_tpu.lowering.passes.maintain_caches import MAINTAIN_CACHES
    from tile_tpu.lowering.passes.order_engines import ORDER_ENGINES
    from tile_tpu.lowering.passes.pipeline_dma import PIPELINE_DMA
    from tile_tpu.lowering.passes.plan_local import PLAN_LOCAL
    from tile_tpu.lowering.passes.serial_loops import SERIAL_LOOPS
    from tile_tpu.lowering.passes.spread_blocks import SPREAD_BLOCKS
    from tile_tpu.lowering.passes.tensorize import TENSORIZE
    from tile_tpu.lowering.tile_ops.implementations import implementations

    edits = (
        PassEdit("insert", "separate_overlaps", ASSIGN_LAYOUTS),
        PassEdit("remove", "plan_prefetches"),
        PassEdit("remove", "apply_layouts"),  # assign_layouts chooses the layouts here
        PassEdit("insert", "thread_loops", TENSORIZE),
        PassEdit("insert", "guard_bounds", ADDRESS_TILES),
        PassEdit("insert", "address_tiles", FILL_UNWRITTEN),
        PassEdit("remove", "fuse_loops"),
        PassEdit("replace", "vectorize_loops", SERIAL_LOOPS),
        PassEdit("remove", "unroll_loops"),
        PassEdit("insert", "outline_kernels", SPREAD_BLOCKS),
        PassEdit("insert", "spread_blocks", PIPELINE_DMA),
        PassEdit("insert", "pipeline_dma", PLAN_LOCAL),
        PassEdit("insert", "plan_local", ORDER_ENGINES),
        PassEdit("insert", "order_engines", MAINTAIN_CACHES),
    )
    return Lowering(family="loops", edits=edits, implementations=implementations())
