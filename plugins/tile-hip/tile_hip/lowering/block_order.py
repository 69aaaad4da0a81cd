"""The order of blocks over the XCDs of gfx942 and gfx950, each of which has an L2 cache of its own.

The lengths of runs and the rows of panels are those that HipKittens measured to be best for matrix products, on MI325X
and MI355X.
"""

from __future__ import annotations

from tile_hip.options import DISABLE_XCD_ORDER
from tile_hip.target import architecture_of
from tilecore.contract.passes import PassEnv
from tilecore.lowering.simt.analysis.dies import Dies
from tilecore.lowering.simt.rasterize_blocks import rasterize_for

_XCDS = {"gfx942": Dies(count=8, run=16, panel_rows=4), "gfx950": Dies(count=8, run=64, panel_rows=8)}


def xcds_of(env: PassEnv) -> Dies | None:
    """The XCDs of the target's chip; None where it is a single one, or the configuration turns the order off."""
    return None if DISABLE_XCD_ORDER.value_in(env.config) else _XCDS.get(architecture_of(env.target).name)


ORDER_BLOCKS = rasterize_for(xcds_of)
