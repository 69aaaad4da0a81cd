"""Imports by a name of contract 1 that is gone: the error says the name now."""

from __future__ import annotations

from importlib import import_module

import pytest

from tilecore.plugins.former_imports import NOW, advice


def failed_import(code: str) -> ImportError:
    with pytest.raises(ImportError) as raised:
        exec(code)
    return raised.value


def attribute(path: str) -> object:
    """The object of a dotted path: a module, then names in it."""
    words = path.split(".")
    for length in range(len(words), 0, -1):
        try:
            value: object = import_module(".".join(words[:length]))
        except ModuleNotFoundError:
            continue
        for name in words[length:]:
            value = getattr(value, name)
        return value
    raise AssertionError(path)


@pytest.mark.parametrize("former", NOW)
def test_a_former_name_leads_to_the_name_now(former: str):
    module, _, name = former.rpartition(".")
    error = failed_import(f"from {module} import {name}")
    assert f"{former} is {NOW[former]} now" in (advice(error) or "")
    attribute(NOW[former])


def test_a_private_name_that_is_gone():
    error = failed_import("from tilecore.lowering.simt.bind_threads import Whatever")
    assert "was private" in (advice(error) or "")


@pytest.mark.parametrize("code", ["from tilecore.contract.records import Whatever", "from numpy import whatever"])
def test_other_imports_are_left_alone(code: str):
    assert advice(failed_import(code)) is None


def test_other_errors_are_left_alone():
    assert advice(ValueError("cannot import name 'x' from 'tilecore.y'")) is None
