"""The execution backend ``cutedsl``: kernels as Python of NVIDIA's CuTe DSL, compiled and launched by its package.

``emitter.py`` and ``instructions.py`` write the text, ``device.py`` has the functions that the text calls on the
device, ``package.py`` compiles it by the package nvidia-cutlass-dsl, ``adapter.py`` launches it.
"""
