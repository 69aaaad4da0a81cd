"""Names of the tile operations, for modules that must not import TVM."""

TILE_OP_NAMES = (
    "copy transpose gemm fill reduce scan atomic atomic_element finalize_reducer sync_threads allreduce shuffle ballot "
    "print device_assert assume annotate"
).split()
DIALECT, CALLED = "dialect", "called"  # attributes of a call: the kind of a target, and such as "T.name"
