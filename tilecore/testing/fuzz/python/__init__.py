"""Random bodies of Python statements, run by CPython on numbers and by a kernel: they must give the same.

``generate`` makes a body from a seed, ``judge`` runs it both ways, ``shrink`` reduces a finding, ``hunt`` does this
for many seeds; ``tilecore fuzz --python`` calls it.
"""
