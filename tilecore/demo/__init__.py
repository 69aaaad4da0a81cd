"""``tilecore demo``: kernels in the tile language, run and checked on a target."""
