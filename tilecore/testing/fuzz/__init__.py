"""Random tile kernels, run on a target and by the interpreter.

A kernel is a :class:`~tilecore.testing.fuzz.program.Program`: a syntax tree, generated from a seed (``generate``),
printed as Python source (``printing``), compared with the interpreter (``oracle``), and reduced when there is a finding
(``shrink``). ``hunt`` does this for many seeds, in worker processes; ``tilecore fuzz`` calls it.
"""
