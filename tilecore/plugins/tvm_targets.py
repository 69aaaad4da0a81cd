"""Reads TVM's Target objects without importing TVM."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from typing import Any

from tilecore.errors import TargetError
from tilecore.target import Attribute, Target


def is_tvm_target(value: Any) -> bool:
    """Whether the value is a tvm.target.Target."""
    return type(value).__module__.startswith("tvm.") and hasattr(value, "kind") and hasattr(value, "attrs")


def current_target() -> Any:
    """The tvm.target.Target of the innermost ``with`` of one; None where there is none."""
    module = sys.modules.get("tvm.target")
    return None if module is None else module.Target.current(allow_none=True)


def kind_name(value: Any) -> str:
    """TVM's name of the target's kind, such as ``llvm``."""
    return str(value.kind.name)


def from_tvm(value: Any, kind: str, declared: Mapping[str, Any]) -> Target:
    """The target of ``kind`` for TVM's target. declared: the backend's attributes, by each of their names.

    Attributes with the value that TVM fills in (limits of the device, the host's triple, sm_50 without a GPU) are left
    out: the backend chooses its own. Those that the user set stay, so that the backend refuses unknown ones. Raises
    TargetError for another machine's triple.
    """
    filled_in = dict(type(value)({"kind": kind_name(value)}).attrs)
    attributes: dict[str, Attribute] = {}
    for name, value_in_tvm in dict(value.attrs).items():
        if name in filled_in and filled_in[name] == value_in_tvm:
            continue
        if name in declared:
            attributes[name] = _plain(name, value_in_tvm)
        elif name == "mattr" and "features" in declared:
            attributes["features"] = _features([str(feature) for feature in value_in_tvm])
        elif name == "mtriple":
            _check_machine(str(value_in_tvm))
        else:
            attributes[name] = _plain(name, value_in_tvm)
    return Target(kind, attributes)


def _plain(name: str, value: Any) -> Attribute:
    if not isinstance(value, (str, int, bool)):
        raise TargetError(f"target attribute {name!r} must be a str, an int or a bool", found=repr(value)[:80])
    return str(value) if isinstance(value, str) else value


def _features(features: list[str]) -> str:
    """``["+avx2", "+fma"]`` as ``"avx2,fma"``."""
    removed = [feature for feature in features if not feature.startswith("+")]
    if removed:
        raise TargetError(
            f"the target removes the extension {removed[0]!r}, which is not supported",
            expected='extensions to use, such as "+avx2"',
        )
    return ",".join(sorted(feature[1:] for feature in features))


def _check_machine(triple: str) -> None:
    machine = triple.partition("-")[0]
    if machine != platform.machine():
        raise TargetError(
            f"the target is for another machine: mtriple={triple!r}",
            expected=f"this machine, {platform.machine()}",
            hint="compile on that machine, or leave out mtriple",
        )
