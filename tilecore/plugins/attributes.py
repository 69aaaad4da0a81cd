"""Checks a target's attributes against the target's table, fills in defaults and calls the plugin's ``resolve``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tilecore.contract.origin import remedy, title
from tilecore.errors import PluginError, TargetError
from tilecore.nearest import did_you_mean
from tilecore.plugins.attribute_values import expected_type, expected_values, fits
from tilecore.target import Attribute, Target

if TYPE_CHECKING:
    from tilecore.contract.records import AttributeSpec, Backend


def complete(backend: Backend, target: Target) -> Target:
    """``target`` with every attribute of its kind. Raises TargetError for unknown attributes and wrong values."""
    table = backend.target.attributes
    filled: dict[str, Attribute] = {}
    names = by_any_name(table)
    for typed, value in target.attributes.items():
        if typed not in names:
            raise _unknown(backend, typed, table)
        name = names[typed]
        if name in filled and filled[name] != value:
            raise TargetError(
                f'attribute {name!r} of target "{backend.kind}" is given twice with different values',
                found=str(target),
                expected=f"{name!r} once",
            )
        filled[name] = _checked(backend.kind, name, value, table[name])
    for name, spec in table.items():
        if spec.default is not None:
            filled.setdefault(name, spec.default)
    return _check_resolved(backend, backend.target.resolve(Target(backend.kind, filled)))


def without_defaults(backend: Backend, target: Target) -> Target:
    """The target as a user would write it: without the attributes that have their default values."""
    table = backend.target.attributes
    kept = {
        name: value for name, value in target.attributes.items() if name not in table or table[name].default != value
    }
    return Target(target.kind, kept)


def by_any_name(table: Mapping[str, AttributeSpec]) -> dict[str, str]:
    """The attribute's name by every name that users may write."""
    others = {other: name for name, spec in table.items() for other in spec.other_names}
    return {**others, **{name: name for name in table}}


def _unknown(backend: Backend, name: str, table: Mapping[str, AttributeSpec]) -> TargetError:
    attributes = ", ".join(f"-{key} ({spec.doc})" for key, spec in sorted(table.items()))
    return TargetError(
        f'target "{backend.kind}" has no attribute {name!r}',
        found=f"-{name}",
        expected=attributes or "no attributes",
        hint=did_you_mean(name, table, "-{}"),
    )


def _checked(kind: str, name: str, value: Attribute, spec: AttributeSpec) -> Attribute:
    value_type = expected_type(spec)
    if value_type is str and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # -model=5: the text of a target cannot tell a number from a name
    if value_type is not None and type(value) is not value_type:
        type_text = {str: "text", int: "an integer", bool: "a flag: true or false"}[value_type]
        raise TargetError(
            f'attribute {name!r} of target "{kind}" must be {type_text}', found=repr(value), expected=spec.doc
        )
    if spec.choices and value not in spec.choices:
        raise TargetError(
            f'attribute {name!r} of target "{kind}" cannot be {value!r}',
            found=f"-{name}={value}",
            expected=f"one of {', '.join(map(str, spec.choices))}",
            hint=did_you_mean(value, spec.choices, f"-{name}={{}}"),
        )
    return value


def _check_resolved(backend: Backend, target: Target) -> Target:
    """The resolved target. Raises PluginError unless it has the backend's kind and exactly the declared attributes,
    with values that their specs allow."""
    declared = set(backend.target.attributes)
    if target.kind == backend.kind and set(target.attributes) == declared:
        for name, spec in backend.target.attributes.items():
            value = target.attributes[name]
            if not fits(value, spec):
                raise PluginError(
                    f"{title(backend)}: TargetSpec.resolve returned a wrong value of attribute {name!r}",
                    found=repr(value),
                    expected=expected_values(spec),
                    hint=remedy(backend),
                )
        return target
    raise PluginError(
        f"{title(backend)}: TargetSpec.resolve returned the wrong target",
        found=f"{target} with attributes {sorted(target.attributes)}",
        expected=f'kind "{backend.kind}" with attributes {sorted(declared)}',
        hint=remedy(backend),
    )
