"""The guard: which errors pass, which are blamed on the package, and what the message tells."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from tilecore.errors import LanguageError, PluginError, UnsupportedError
from tilecore.plugins.guard import calling, guarded

ORIGIN = SimpleNamespace(kind="acme", package="tile-acme", version="1.5")


def raiser(error):
    def function(*args, **keywords):
        raise error

    return function


def test_result_and_arguments_go_through():
    assert guarded(ORIGIN, "f", lambda a, *, b: (a, b))(1, b=2) == (1, 2)


def test_check_gives_the_result():
    assert guarded(ORIGIN, "f", lambda: [1, 2], tuple)() == (1, 2)


@pytest.mark.parametrize(
    "error", [ValueError("x"), SystemExit(2), asyncio.CancelledError(), AssertionError(), ImportError("no", name="m")]
)
def test_unexpected_errors_name_package_function_and_cause(error):
    with pytest.raises(PluginError) as caught:
        guarded(ORIGIN, "Toolchain.build", raiser(error))()
    text = str(caught.value)
    assert caught.value.__cause__ is error
    assert 'target "acme" (package tile-acme 1.5)' in text
    assert f"Toolchain.build raised {type(error).__name__}" in text
    assert f"{__file__}:" in text
    assert "pip install --upgrade tile-acme" in text
    assert "pip uninstall tile-acme" in text


@pytest.mark.parametrize("error", [LanguageError("a"), UnsupportedError("b"), KeyboardInterrupt(), MemoryError()])
def test_own_errors_and_interrupts_pass(error):
    with pytest.raises(type(error)) as caught:
        guarded(ORIGIN, "f", raiser(error))()
    assert caught.value is error


def test_calling_guards_a_block():
    with (
        pytest.raises(PluginError, match="pass swizzle raised KeyError: 'x'") as caught,
        calling(ORIGIN, "pass swizzle"),
    ):
        {}["x"]
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(LanguageError), calling(ORIGIN, "pass swizzle"):
        raise LanguageError("the user's own mistake")


def test_while_loading_own_errors_are_blamed_too():
    with pytest.raises(PluginError, match="tilecore_target raised UnsupportedError: b"):
        with calling(ORIGIN, "tilecore_target", loading=True):
            raise UnsupportedError("b")


def test_nested_guards_blame_once():
    inner = SimpleNamespace(kind="inner", package="tile-inner", version="1")
    with pytest.raises(PluginError, match="tile-inner") as caught:
        guarded(ORIGIN, "outer", guarded(inner, "inner", raiser(ValueError("x"))))()
    assert "tile-acme" not in str(caught.value)


def test_missing_module_is_part_of_the_fix():
    with pytest.raises(PluginError) as caught:
        guarded(ORIGIN, "f", raiser(ModuleNotFoundError("no", name="acme_sdk")))()
    assert "install the package of the module 'acme_sdk'" in caught.value.hint


def test_only_the_first_line_of_a_long_message_is_quoted():
    with pytest.raises(PluginError) as caught:
        guarded(ORIGIN, "f", raiser(ValueError("first\nsecond")))()
    assert "second" not in str(caught.value)


def test_the_function_can_still_be_found():
    function = raiser(ValueError())
    assert guarded(ORIGIN, "f", function).__wrapped__ is function
