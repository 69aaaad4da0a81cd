"""The source of a user's function: its syntax tree with the file's own line numbers."""

from __future__ import annotations

import ast
import inspect
import textwrap
from types import FunctionType

from tilecore.errors import LanguageError, Location
from tilecore.former_attributes import former_attributes
from tilecore.ir import spans
from tilecore.ir.spans import shift_columns


def parse_function(function: FunctionType) -> tuple[str, ast.FunctionDef | ast.Lambda]:
    """File name and definition of ``function``; lines and columns are those of the file."""
    file = inspect.getsourcefile(function) or function.__code__.co_filename
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise LanguageError(
            f"the source of {function.__qualname__} cannot be read",
            found=f"a function from {file}",
            expected="a function in a file or a notebook cell",
            hint="register the text of code made by exec() in linecache",
        ) from None
    text = "".join(lines)
    dedented = textwrap.dedent(text)
    margin = len(lines[0]) - len(lines[0].lstrip())
    tree = ast.parse(dedented)
    ast.increment_lineno(tree, first - 1)
    if margin:
        shift_columns(tree, margin)
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise LanguageError(
            f"{function.__qualname__} is not a plain function definition",
            location=Location(file, first),
            expected="def name(...): ...",
        )
    return file, definition


# contract 1
_MOVED = ("location_of_span", "place_of_parameter", "span_at", "SpanTable")
__getattr__ = former_attributes(
    __name__, {name: (f"tilecore.ir.spans.{name}", getattr(spans, name)) for name in _MOVED}
)
