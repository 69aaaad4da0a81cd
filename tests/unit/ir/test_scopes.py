"""Which memory a scope names."""

import pytest

from tilecore.ir import scopes
from tilecore.ir.nodes import tirx

ASKED = ("is_global", "is_shared", "is_fragment", "is_total", "is_private", "is_own")


@pytest.mark.parametrize(
    ("scope", "true"),
    [
        ("", "is_global"),
        ("global", "is_global"),
        ("shared", "is_shared"),
        ("shared.dyn", "is_shared"),
        ("local", "is_private is_own"),
        ("local.var", "is_private is_own"),
        ("local.fragment", "is_fragment is_own"),
        ("reduce.max", "is_total is_private is_own"),
    ],
)
def test_what_is_said_of_a_scope(scope, true):
    buffer = tirx.decl_buffer([4], "float32", "x", scope=scope, layout=None)
    assert {name for name in ASKED if getattr(scopes, name)(buffer)} == set(true.split())
