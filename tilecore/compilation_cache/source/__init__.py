"""Describes the source and state of functions for the source keys of kernels.

text         a function's definition, verbatim, and its bytecode
scopes       which names are bound where
reads        the names that a definition reads from outside
definitions  the three above, once per code object
trust        what is taken by its name
functions    a function and the values of what it reads
classes      a class or an instance as plain parts
values       any value, canonically
"""
