"""The values that the spec of a target's attribute allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilecore.contract.records import AttributeSpec

_TYPE_TEXTS = {str: "a str", int: "an int", bool: "True or False"}


def expected_type(spec: AttributeSpec) -> type | None:
    """The type of an attribute's values; None where its spec has neither default nor choices of one type."""
    examples = spec.choices if spec.default is None else (spec.default,)
    kinds = {type(example) for example in examples}
    return kinds.pop() if len(kinds) == 1 else None


def fits(value: Any, spec: AttributeSpec) -> bool:
    """Does the spec allow this value? A bool is no int here: ``True`` is not the choice 1."""
    value_type = expected_type(spec)
    if value_type is not None and type(value) is not value_type:
        return False
    return not spec.choices or any(type(value) is type(choice) and value == choice for choice in spec.choices)


def expected_values(spec: AttributeSpec) -> str:
    """The values that the spec allows, in words."""
    if spec.choices:
        return f"one of {', '.join(map(repr, spec.choices))}"
    value_type = expected_type(spec)
    return _TYPE_TEXTS[value_type] if value_type else "a str, an int or a bool"
