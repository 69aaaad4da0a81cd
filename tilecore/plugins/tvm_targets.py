"""Targets that are given as TVM's own Target objects: read without importing TVM, which the caller has."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

from tilecore.errors import TargetError
from tilecore.target import Attribute, Target


def is_tvm_target(value: Any) -> bool:
    """Is it a tvm.target.Target?"""
    return type(value).__module__.startswith("tvm.") and hasattr(value, "kind") and hasattr(value, "attrs")


def kind_name(value: Any) -> str:
    """TVM's name of its kind, such as ``llvm``."""
    return str(value.kind.name)


def from_tvm(value: Any, kind: str, declared: Mapping[str, Any]) -> Target:
    """The target of ``kind`` that it means. declared: the attributes that the backend knows, by every name of theirs.

    What TVM fills in by itself (limits of the device, the host's triple) is left out where the backend does not know
    it; an attribute that someone set stays, so that the backend refuses the ones it does not know. Raises TargetError
    for another machine's triple.
    """
    filled_in = dict(type(value)({"kind": kind_name(value)}).attrs)
    attributes: dict[str, Attribute] = {}
    for name, given in dict(value.attrs).items():
        if name in declared:
            attributes[name] = _plain(name, given)
        elif name == "mattr" and "features" in declared:
            attributes["features"] = _features([str(word) for word in given])
        elif name == "mtriple":
            _check_machine(str(given))
        elif name not in filled_in or filled_in[name] != given:
            attributes[name] = _plain(name, given)
    return Target(kind, attributes)


def _plain(name: str, value: Any) -> Attribute:
    if not isinstance(value, (str, int, bool)):
        raise TargetError(f"target attribute {name!r} must be a str, an int or a bool", found=repr(value)[:80])
    return str(value) if isinstance(value, str) else value


def _features(words: list[str]) -> str:
    """``["+avx2", "+fma"]`` as ``"avx2,fma"``."""
    taken_away = [word for word in words if not word.startswith("+")]
    if taken_away:
        raise TargetError(
            f"the target takes the extension {taken_away[0]!r} away", expected='extensions to use, such as "+avx2"'
        )
    return ",".join(sorted(word[1:] for word in words))


def _check_machine(triple: str) -> None:
    machine = triple.partition("-")[0]
    if machine != platform.machine():
        raise TargetError(
            f"the target is for another machine: mtriple={triple!r}",
            expected=f"this one, {platform.machine()}",
            hint="compile there, or leave mtriple out",
        )
