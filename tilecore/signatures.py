"""The parameters of a function, without a look at its annotations.

Python 3.14 evaluates annotations when they are first asked for, and ``inspect.signature`` asks. One that names what is
imported for type checkers only would then be a NameError, for a function that Python runs without complaint.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

if sys.version_info >= (3, 14):
    from annotationlib import Format

    def signature_of(function: Callable[..., Any]) -> inspect.Signature:
        """``inspect.signature``, with annotations as texts. Raises TypeError for what cannot be called and ValueError
        where Python knows no parameters."""
        return inspect.signature(function, annotation_format=Format.STRING)

else:

    def signature_of(function: Callable[..., Any]) -> inspect.Signature:
        """``inspect.signature``. Raises TypeError for what cannot be called and ValueError where Python knows no
        parameters."""
        return inspect.signature(function)
