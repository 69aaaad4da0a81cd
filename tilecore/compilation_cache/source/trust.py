"""Lists trusted names: versions alone determine their meaning, so a source key contains only the names.

Everything here is a pure function of its arguments (or only prints). What reads the environment, files, clocks,
random numbers or addresses must not be in these tables.
"""

from __future__ import annotations

import builtins
import sys
from types import ModuleType
from typing import Any


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(text.split())


PURE_BUILTINS: dict[str, Any] = {
    name: getattr(builtins, name)
    for name in words(
        "abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter "
        "float format frozenset getattr hasattr hex int isinstance issubclass iter len list map max min next object "
        "oct ord pow print property range repr reversed round set slice sorted staticmethod str sum super tuple "
        "type zip NotImplemented Ellipsis __debug__ "
        "BaseException Exception ArithmeticError AssertionError AttributeError IndexError KeyError LookupError "
        "NameError NotImplementedError OverflowError RuntimeError StopIteration TypeError ValueError "
        "UserWarning DeprecationWarning Warning ZeroDivisionError"
    )
}
PURE_BUILTIN_CLASSES = frozenset(value for value in PURE_BUILTINS.values() if isinstance(value, type))

_NOTHING = object()

# Modules that are pure throughout, and what is not pure in them.
_PURE_MODULES = words(
    "math cmath functools itertools typing typing_extensions enum dataclasses operator collections collections.abc abc "
    "numbers types"
)
_IMPURE_NAMES = frozenset(
    {
        ("functools", "lru_cache"),  # such a function may hold what it was given before something changed
        ("functools", "cache"),
        ("operator", "attrgetter"),
        ("operator", "methodcaller"),
        ("typing", "get_type_hints"),
        ("types", "FunctionType"),
        ("types", "CodeType"),
    }
)

# Rooms of tilecore that a kernel is written with; the others look at the machine, the environment or the disk.
_LANGUAGE_ROOMS = words("language layout dtypes math frontend ir jit transform target errors")
_TOP_NAMES = words(
    "jit language layout math transform dtype Target PassConfigKey GemmWarpPolicy TensorSupplyType cdiv "
    "next_power_of_2 Layout Fragment"
)

_TORCH_NAMES = frozenset({"Size", "device", "dtype", "finfo", "iinfo"})
_NUMPY_NAMES = words(
    "ceil floor sqrt log log2 log10 exp exp2 power prod sum gcd lcm abs maximum minimum clip dtype finfo iinfo isnan "
    "isinf arange linspace array zeros ones"
)


def policy(module: str) -> str:
    """How reads of a module's attributes are taken.

    "pure": by name. "listed": torch and numpy, by name when listed. "values": plain values only (the rest of the
    standard library). "user": everything by its own description.
    """
    root, _, rest = module.partition(".")
    if root == "tilecore":
        return "pure" if not rest or rest.partition(".")[0] in _LANGUAGE_ROOMS else "values"
    if module in _PURE_MODULES:
        return "pure"
    if root in ("torch", "numpy"):
        return "listed" if not rest else "values"
    if root in sys.stdlib_module_names or root in ("tvm", "tvm_ffi"):
        return "values"
    return "user"


def is_pure_name(module: str, name: str) -> bool:
    """Whether ``module.name``, of a pure module, may be taken by its name without looking at it."""
    if module == "tilecore":
        return name in _TOP_NAMES or name in _LANGUAGE_ROOMS
    return (module, name) not in _IMPURE_NAMES


def is_as_declared(module: ModuleType, name: str, value: Any) -> bool:
    """Whether ``value`` is what a module of tilecore that loads its names on demand declares for ``name``."""
    table = vars(module).get("_NAMES") or vars(module).get("_LAZY") or {}
    declared = table.get(name)
    if declared is None:
        return False
    where, attribute = declared.split(":") if isinstance(declared, str) else declared
    return vars(sys.modules.get(where, sys)).get(attribute, _NOTHING) is value


def is_listed(module: ModuleType, name: str, value: Any) -> bool:
    """Whether ``torch.name`` or ``numpy.name`` is a pure function or class of that package, unchanged."""
    if module.__name__ == "torch":
        return name in _TORCH_NAMES and getattr(value, "__name__", None) == name
    if isinstance(value, type) and issubclass(value, module.generic):
        return True
    return name in _NUMPY_NAMES and getattr(value, "__name__", None) in (name, {"abs": "absolute"}.get(name))


def home(value: Any) -> tuple[str, str] | None:
    """Module and qualified name of a function or class of a pure module; None for anything else.

    Functions that carry state (closures, and what was defined inside another function) are not taken by name.
    """
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or "<" in name:
        return None
    if module in ("_functools", "_operator", "_collections"):
        module = module[1:]
    if policy(module) != "pure" or not is_pure_name(module, name) or getattr(value, "__closure__", None) is not None:
        return None
    return module, name
