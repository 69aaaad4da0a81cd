"""The parameters of a function, without a look at its annotations; what Python says of arguments that do not fit.

Python 3.14 evaluates annotations when they are first asked for, and ``inspect.signature`` asks. One that names what is
imported for type checkers only would then be a NameError, for a function that Python runs without complaint.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
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


_NO_KEYWORDS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def complaint_and_hint(error: TypeError, keywords: Iterable[str]) -> tuple[str, str | None]:
    """Python's message about a call whose arguments do not fit, and which of the keywords was meant.

    Python 3.13 and later offer a keyword themselves, at the end of the message: it is in the hint here.
    """
    from tilecore.nearest import did_you_mean  # only a mistake needs it

    text = re.sub(r"\. Did you mean '\w+'\?$", "", str(error))
    unknown = re.search(r"got an unexpected keyword argument '(\w+)'", text)
    return text, did_you_mean(unknown[1], keywords) if unknown else None


def keywords_of(function: Callable[..., Any] | inspect.Signature) -> list[str]:
    """The names by which a call can give arguments, second names (``also_named``) too, without ``self``; none where
    Python knows none."""
    try:
        signature = function if isinstance(function, inspect.Signature) else signature_of(function)
    except (TypeError, ValueError):
        return []
    parameters = signature.parameters
    names = [name for name, parameter in parameters.items() if parameter.kind not in _NO_KEYWORDS and name != "self"]
    return [*names, *getattr(function, "also_named", ())]
