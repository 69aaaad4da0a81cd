"""T.gemm by matrix instructions of a warp, for the backends that have them.

The backend names the instructions and emits the calls. ``config.py`` divides a product among the warps of a block,
``operands.py`` says where each lane's elements lie in shared memory, ``word_loads.py`` loads them, ``swizzle.py``
avoids bank conflicts, ``gemm.py`` emits the loop over the steps, ``implementation.py`` makes a tile operation of them.
"""
