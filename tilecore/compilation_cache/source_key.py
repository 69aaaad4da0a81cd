"""Computes the key of a kernel's source, without TVM and without running the function that makes the kernel.

It covers everything that running ``function(*args, **kwargs)`` could read: the source and bytecode of the function
and of every function and class that it reaches, default arguments, closures, and the values of the globals and module
attributes that it names. So an equal key means the same kernel, for one target and one set of options, which go into
the index key beside it. Whatever is not understood gives no key; compilation then goes through the IR.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tilecore.compilation_cache.current import disk_cache
from tilecore.compilation_cache.source.functions import describe_function
from tilecore.compilation_cache.source.text import NotUnderstoodError
from tilecore.compilation_cache.source.values import Describer
from tilecore.compilation_cache.versions import versions_for_key

if TYPE_CHECKING:
    from tilecore.compilation_cache.source.watch import Watch

_VERSION = "tilecore-source 1"
_VARARGS, _VARKEYWORDS = 0x04, 0x08


@dataclass(frozen=True)
class SourceKey:
    """digest: 64 hexadecimal digits, to be combined with the target and the options (``kernel_key``). placed: the same
    of the source and the files and lines that it stands at, for kernels whose errors name lines. portable: the digest
    without the versions of the compiler's packages, for bundles, which are used where these are missing."""

    digest: str
    placed: str
    portable: str = ""


def source_key(function: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> SourceKey | None:
    """The key of what ``function(*args, **kwargs)`` would build; None when it reads something not understood.

    function: a Python function, or an object whose ``__wrapped__`` is one, such as a T.prim_func. Nothing is called
    or imported, but for the method ``__source_key__()`` of objects that have one: it returns plain data that stands
    for the object.
    """
    try:
        return _source_key(function, args, kwargs or {})
    except NotUnderstoodError:
        return None


def function_state(function: FunctionType) -> tuple[str, Watch]:
    """(digest, watch) of everything that running ``function`` could read, apart from its arguments.

    An equal digest means that it would do the same with the same arguments, and while ``watch.holds()`` the digest is
    what it was. For this process only. Raises NotUnderstoodError.
    """
    describer = Describer(disk_cache, in_process=True)
    try:
        describe_function(describer, function, signature=True)
    except RecursionError:
        raise NotUnderstoodError("the values that it reads are nested too deeply") from None
    return sha256(b"".join(describer.out)).hexdigest(), describer.watch


def _source_key(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> SourceKey:
    wrapped = function if isinstance(function, FunctionType) else getattr(function, "__wrapped__", None)
    if not isinstance(wrapped, FunctionType):
        raise NotUnderstoodError("the kernel is not a Python function")
    describer = Describer(disk_cache)
    python = f"{_VERSION} {sys.version_info[:2]} {sys.flags.optimize}"
    try:
        if wrapped is function:
            describe_function(describer, wrapped, signature=True)
            describer.items(b"T", _bind(wrapped, args, kwargs))
        else:
            describer.value(function)
            describer.parts(b"T", *args, dict(kwargs))
    except RecursionError:
        raise NotUnderstoodError("the values that it reads are nested too deeply") from None
    source = b"".join(describer.out)
    digest = sha256(f"{python} {versions_for_key('', '')}\0".encode() + source).hexdigest()
    placed = sha256(repr((digest, describer.places)).encode()).hexdigest()
    return SourceKey(digest, placed, sha256(f"portable {python}\0".encode() + source).hexdigest())


def _bind(function: FunctionType, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The value of every parameter, in order, however it was passed; defaults filled in."""
    code = function.__code__
    count = code.co_argcount
    positional = code.co_varnames[:count]
    keyword_only = code.co_varnames[count : count + code.co_kwonlyargcount]
    defaults = function.__defaults__ or ()
    values = dict(zip(positional[count - len(defaults) :], defaults, strict=True)) if defaults else {}
    values.update(function.__kwdefaults__ or {})
    positional_values = dict(zip(positional, args, strict=False))
    values.update(positional_values)
    extra_keywords = {}
    for name, value in kwargs.items():
        if name in positional_values or name in positional[: code.co_posonlyargcount]:
            raise NotUnderstoodError(f"argument {name} cannot be passed by name")
        if name in positional or name in keyword_only:
            values[name] = value
        else:
            extra_keywords[name] = value
    extra = tuple(args[count:])
    fits = (not extra or code.co_flags & _VARARGS) and (not extra_keywords or code.co_flags & _VARKEYWORDS)
    names = (*positional, *keyword_only)
    if not fits or any(name not in values for name in names):
        raise NotUnderstoodError("the arguments do not fit the parameters")
    return [*(values[name] for name in names), extra, extra_keywords]
