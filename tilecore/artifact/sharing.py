"""Lets the artifacts that a process keeps share what is equal in them.

The kernels of one function differ in some sizes. The names and element types of their parameters are the same, and many
whole parameters are, so these are kept once for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact

V = TypeVar("V")

MOST = 4096  # values that are remembered
_TEXTS = ("name", "target", "backend", "adapter", "source_format", "binary_format", "index_hint")

_values: dict[Any, Any] = {}


def share_parts(artifact: Artifact) -> None:
    """Put equal parts of earlier artifacts in the place of this one's: texts, parameters, workspaces, versions, and
    what is the same in most entries. No value changes."""
    fields = vars(artifact)
    _share_texts(fields, _TEXTS)
    for name in ("params", "workspaces"):
        fields[name] = tuple(map(_shared_record, fields[name]))
    if all(isinstance(version, str) for version in artifact.versions.values()):
        fields["versions"] = _kept(("versions", *artifact.versions.items()), artifact.versions)
    for entry in artifact.entries:
        facts = vars(entry)
        facts["threads"] = _shared(entry.threads)
        if type(entry.attributes) is dict and all(value == [] for value in entry.attributes.values()):
            facts["attributes"] = _kept(("attributes", *entry.attributes), entry.attributes)


def _shared_record(record: V) -> V:
    """An equal record of an earlier artifact; else this one, of whose texts equal ones are shared."""
    _share_texts(vars(record), ("name", "dtype", "access", "pointer"))
    return _shared(record)


def _share_texts(fields: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if name in fields:
            fields[name] = _shared(fields[name])


def _shared(value: V) -> V:
    """An equal value that was given earlier, or this one."""
    return _kept(value, value)


def _kept(key: Any, value: V) -> V:
    """The value that was given earlier by this key, or this one. A value with a list in it, which a backend may make,
    is not shared."""
    if len(_values) >= MOST:
        _values.clear()  # those that are in use are in the artifacts
    try:
        earlier: V = _values.setdefault(key, value)
    except TypeError:  # it has no hash
        return value
    return earlier
