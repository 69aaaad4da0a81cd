"""Random tile kernels, run on a target and by the interpreter.

A kernel is a :class:`~tilecore.testing.fuzz.program.Program`: a small tree, made from a seed (``generate``), printed as
Python source (``printing``), judged (``oracle``), and cut down when it finds something (``shrink``). ``hunt`` does this
for many seeds, in worker processes; ``tilecore fuzz`` calls it.
"""
