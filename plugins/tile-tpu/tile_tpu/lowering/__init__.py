"""From tile IR to commands and control code: the loops family, with tiles taken out of its loops.

What the tensor unit and DMA can do becomes commands (``tile_tpu/ir/instructions.py``); all else stays loops on the
control core, element by element, and ``kernel.explain()`` says which.
"""
