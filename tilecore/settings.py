"""Every TILECORE_* environment variable, once: its name, type, default and meaning.

Values are read from the environment when they are used, so a program (or a test) may change them at any time.
An empty value counts as not set; a wrong one raises :class:`SettingError`, which names the variable.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tilecore.errors import TilecoreError


class SettingError(TilecoreError, ValueError):
    """An environment variable has a value that cannot be understood."""


@dataclass(frozen=True)
class Setting:
    """One environment variable.

    parse: text to value; raises ValueError. expected: legal values, in words. default: the value when it is not set.
    """

    name: str
    parse: Callable[[str], Any]
    expected: str
    default: Any
    doc: str

    def read(self) -> Any:
        """The current value; raises SettingError naming the variable when its text is wrong."""
        text = os.environ.get(self.name, "").strip()
        if not text:
            return self.default
        try:
            return self.parse(text)
        except ValueError:
            raise SettingError(
                f"environment variable {self.name} has a value that cannot be understood",
                found=f"{self.name}={text}",
                expected=self.expected,
                hint=f"unset {self.name} for the default ({self.default!r}); it sets {self.doc}",
            ) from None


def _flag(text: str) -> bool:
    word = text.lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError(text)


def _whole(least: int, most: int | None = None) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = int(text)
        if value < least or (most is not None and value > most):
            raise ValueError(text)
        return value

    return parse


_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def _size(text: str) -> int:
    """Bytes: ``500M``, ``4G``, ``4GiB``, ``1.5G``, ``1048576``."""
    number = text.upper().removesuffix("IB").removesuffix("B")
    unit = number[-1:] if number[-1:] in ("K", "M", "G", "T") else ""
    value = float(number.removesuffix(unit)) * _UNITS[unit]
    if not 0 < value < 2**63:
        raise ValueError(text)
    return int(value)


_FLAG = "1/0, true/false, yes/no or on/off"


def _table(*settings: Setting) -> dict[str, Setting]:
    return {setting.name: setting for setting in settings}


SETTINGS: dict[str, Setting] = _table(
    Setting("TILECORE_TARGET", str, "a target, such as cpu", "auto", "the target of kernels that name none"),
    Setting(
        "TILECORE_EXECUTION_BACKEND",
        str,
        "an execution backend of the target, or auto",
        "auto",
        "how kernels are launched when they name no execution backend",
    ),
    Setting("TILECORE_VERBOSE", _flag, _FLAG, False, "whether compilation reports what it does"),
    Setting("TILECORE_PRINT_ON_COMPILATION", _flag, _FLAG, False, "whether one line is printed per compiled kernel"),
    Setting("TILECORE_CACHE_DIR", str, "a directory", None, "where compiled kernels are kept"),
    Setting("TILECORE_DATA_DIR", str, "a directory", None, "where toolchains are kept that tilecore installed"),
    Setting(
        "TILECORE_CACHE_SIZE",
        _size,
        "a number of bytes, or one with K, M, G or T",
        4 * 2**30,
        "how many bytes of compiled kernels are kept",
    ),
    Setting("TILECORE_DISABLE_CACHE", _flag, _FLAG, False, "whether the cache on disk is left alone"),
    Setting(
        "TILECORE_AUTO_TUNING_DISABLE_CACHE",
        _flag,
        _FLAG,
        False,
        "whether stored results of the autotuner are left alone",
    ),
    Setting(
        "TILECORE_DEBUG",
        _whole(0, 6),
        "a whole number from 0 to 6",
        0,
        "what is shown: 1 backend and tools chosen, 2 time per step, 3 tile IR, 4 emitted source, "
        "5 IR after each pass, 6 tool command lines",
    ),
    Setting("TILECORE_DUMP", str, "a directory", None, "where a numbered file per compilation step is written"),
    Setting("TILECORE_CHECK", _flag, _FLAG, False, "whether IR is verified between passes, barriers after them"),
    Setting(
        "TILECORE_INTERPRET",
        _flag,
        _FLAG,
        False,
        "whether kernels run by their definition, on numpy, with every access checked",
    ),
    Setting(
        "TILECORE_SIMULATE",
        _flag,
        _FLAG,
        False,
        "whether kernels run on the simulated device, or by their definition where their target has none",
    ),
    Setting(
        "TILECORE_SIMULATE_SEED",
        _whole(0),
        "a whole number, 0 or more",
        0,
        "the order in which the simulated device runs threads and blocks",
    ),
    Setting(
        "TILECORE_SIMULATE_TIMEOUT",
        _whole(1),
        "a whole number of seconds, 1 or more",
        120,
        "after how many seconds a kernel in a simulator of a target's own is stopped",
    ),
    Setting(
        "TILECORE_NUM_THREADS", _whole(1, 4096), "a whole number, 1 to 4096", None, "how many CPU threads run a kernel"
    ),
    Setting("TILECORE_PURE_PYTHON", _flag, _FLAG, False, "whether the built extensions are left alone"),
)


def target() -> str:
    """Target of kernels that name none; ``"auto"``: the first device that is present."""
    return SETTINGS["TILECORE_TARGET"].read()


def execution_backend() -> str:
    """Execution backend of kernels that name none; ``"auto"``: the target's first that is available."""
    return SETTINGS["TILECORE_EXECUTION_BACKEND"].read()


def verbose() -> bool:
    return SETTINGS["TILECORE_VERBOSE"].read()


def print_on_compilation() -> bool:
    return SETTINGS["TILECORE_PRINT_ON_COMPILATION"].read()


def cache_dir() -> str | None:
    """Absolute path of the kernel cache; None when no home directory is known and TILECORE_CACHE_DIR is not set."""
    path = SETTINGS["TILECORE_CACHE_DIR"].read()
    path = os.path.expanduser(path) if path else default_cache_dir()
    # an unknown home directory leaves "~" in place: such a path would land in the working directory
    return None if path.startswith("~") else os.path.abspath(path)


def data_dir() -> str | None:
    """Absolute path of the folder of installed toolchains; None as for :func:`cache_dir`."""
    path = SETTINGS["TILECORE_DATA_DIR"].read()
    if path:
        path = os.path.expanduser(path)
    else:
        import platformdirs

        path = platformdirs.user_data_dir("tilecore", appauthor=False)
    return None if path.startswith("~") else os.path.abspath(path)


def cache_size() -> int:
    """Most bytes that the kernel cache keeps on disk."""
    return SETTINGS["TILECORE_CACHE_SIZE"].read()


def disable_cache() -> bool:
    return SETTINGS["TILECORE_DISABLE_CACHE"].read()


def auto_tuning_disable_cache() -> bool:
    return SETTINGS["TILECORE_AUTO_TUNING_DISABLE_CACHE"].read()


def debug() -> int:
    """The rung of the debug ladder, 0 (nothing) to 6."""
    return SETTINGS["TILECORE_DEBUG"].read()


def dump() -> str | None:
    """Absolute path of the directory that compilation steps are dumped to, or None."""
    path = SETTINGS["TILECORE_DUMP"].read()
    return os.path.abspath(os.path.expanduser(path)) if path else None


@contextmanager
def dumping_to(folder: str) -> Iterator[None]:
    """Inside of it, compilations of this process write their steps to ``folder``, as with TILECORE_DUMP."""
    before = os.environ.get("TILECORE_DUMP")
    os.environ["TILECORE_DUMP"] = folder
    try:
        yield
    finally:
        if before is None:
            del os.environ["TILECORE_DUMP"]
        else:
            os.environ["TILECORE_DUMP"] = before


def check() -> bool:
    return SETTINGS["TILECORE_CHECK"].read()


def interpret() -> bool:
    """Whether kernels run by their definition."""
    return SETTINGS["TILECORE_INTERPRET"].read()


def simulate() -> bool:
    return SETTINGS["TILECORE_SIMULATE"].read()


def simulate_seed() -> int:
    """Seed of the order in which the simulated device runs threads and blocks."""
    return SETTINGS["TILECORE_SIMULATE_SEED"].read()


def simulate_timeout() -> int:
    """Seconds after which a kernel in a simulator of a target's own, or of its vendor's, is stopped."""
    return SETTINGS["TILECORE_SIMULATE_TIMEOUT"].read()


def num_threads() -> int | None:
    """CPU threads that run a kernel; None: as many as the process may use."""
    return SETTINGS["TILECORE_NUM_THREADS"].read()


def pure_python() -> bool:
    """Whether kernels are launched from plain Python even where the extensions are built."""
    return SETTINGS["TILECORE_PURE_PYTHON"].read()


def unknown() -> list[str]:
    """TILECORE_* variables of the environment that are no setting: misspelt ones, mostly."""
    return sorted(name for name in os.environ if name.startswith("TILECORE_") and name not in SETTINGS)


def default_cache_dir() -> str:
    """Path of the kernel cache where TILECORE_CACHE_DIR is not set; it starts with "~" when no home is known."""
    if sys.platform == "linux" and "ANDROID_DATA" not in os.environ:
        # platformdirs' rule for Linux (a test holds the two together); importing it costs more than a warm start does
        xdg = os.environ.get("XDG_CACHE_HOME", "").strip()
        return os.path.join(xdg if os.path.isabs(xdg) else os.path.expanduser("~/.cache"), "tilecore")
    import platformdirs

    return platformdirs.user_cache_dir("tilecore", appauthor=False)
