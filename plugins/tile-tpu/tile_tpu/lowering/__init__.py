"""The lowering from tile IR to commands and code for the control core: the loops family, with passes for tiles.

Operations that the tensor unit and DMA support become commands (``tile_tpu/ir/instructions.py``). All others stay loops
that the control core runs, one element at a time; ``kernel.explain()`` lists them.
"""
