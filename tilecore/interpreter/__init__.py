"""The definition of the language: tile IR run on numpy, in plain sequence, with every access checked.

:func:`interpret` runs a function once; :class:`Program` compiles it for several runs. docs/language.md puts the
meaning in words; where they differ, the code here decides.
"""

from tilecore.interpreter.program import Program, interpret
from tilecore.interpreter.state import Options

__all__ = ["Options", "Program", "interpret"]
