"""Defines the TILECORE_* environment variables: names, types, defaults and meanings.

Values are read from the environment at each use, so a program (or a test) may change them at any time. An empty value
counts as not set; a wrong value raises :class:`SettingError`, which names the variable.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tilecore.errors import TilecoreError
from tilecore.frozen_dataclasses import frozen
from tilecore.setting_values import duration, flag, names, paths, size, whole


class SettingError(TilecoreError, ValueError):
    """An environment variable has an invalid value."""


@frozen
class Setting:
    """One environment variable.

    parse: text to value; raises ValueError. expected: a description of the legal values. default: the value when the
    variable is not set. doc: a phrase that continues "it sets".
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
                f"environment variable {self.name} has an invalid value",
                found=f"{self.name}={text}",
                expected=self.expected,
                hint=f"unset {self.name} to use the default ({self.default!r}); the variable sets {self.doc}",
            ) from None


SIZE_TEXT = "a number of bytes, or one with K, M, G or T"
DURATION_TEXT = "a number of seconds, or one with s, m, h, d or w"
_FLAG = "1/0, true/false, yes/no or on/off"


def _table(*settings: Setting) -> dict[str, Setting]:
    return {setting.name: setting for setting in settings}


SETTINGS: dict[str, Setting] = _table(
    Setting("TILECORE_TARGET", str, "a target, such as cpu", "auto", "the target of kernels that do not name one"),
    Setting(
        "TILECORE_EXECUTION_BACKEND",
        str,
        "an execution backend of the target, or auto",
        "auto",
        "the execution backend of kernels that do not name one",
    ),
    Setting("TILECORE_VERBOSE", flag, _FLAG, False, "whether compilation prints its steps"),
    Setting(
        "TILECORE_PRINT_ON_COMPILATION", flag, _FLAG, False, "whether one line is printed for each compiled kernel"
    ),
    Setting("TILECORE_CACHE_DIR", str, "a directory", None, "the directory of the cache of compiled kernels"),
    Setting("TILECORE_DATA_DIR", str, "a directory", None, "the directory of toolchains that tilecore installs"),
    Setting(
        "TILECORE_CACHE_SIZE",
        size,
        SIZE_TEXT,
        4 * 2**30,
        "the size of the cache of compiled kernels in bytes",
    ),
    Setting(
        "TILECORE_CACHE_AGE",
        duration,
        DURATION_TEXT,
        None,
        "the age at which unused kernels are removed from the cache, such as 30d",
    ),
    Setting(
        "TILECORE_CACHE_PATH",
        paths,
        f"cache directories and bundle files, separated by {os.pathsep!r}",
        None,
        "read-only cache directories and bundles under the user's own cache",
    ),
    Setting(
        "TILECORE_TRUSTED_KEYS",
        paths,
        f"files of public keys, separated by {os.pathsep!r}",
        None,
        "files of the public keys whose signed bundles are trusted",
    ),
    Setting("TILECORE_DISABLE_CACHE", flag, _FLAG, False, "whether the cache on disk is not used"),
    Setting(
        "TILECORE_CACHED_ONLY",
        flag,
        _FLAG,
        False,
        "whether a kernel that no cache and no bundle has raises an error instead of being compiled",
    ),
    Setting(
        "TILECORE_AUTO_TUNING_DISABLE_CACHE",
        flag,
        _FLAG,
        False,
        "whether stored results of the autotuner are not used",
    ),
    Setting(
        "TILECORE_DEBUG",
        whole(0, 6),
        "a whole number from 0 to 6",
        0,
        "the level of output: 1 backend and tools, 2 time per step, 3 tile IR, 4 emitted source, "
        "5 IR after each pass, 6 tool command lines",
    ),
    Setting("TILECORE_DUMP", str, "a directory", None, "the directory for a numbered file per compilation step"),
    Setting(
        "TILECORE_CHECK", flag, _FLAG, False, "whether IR is verified between passes, and barriers after the last pass"
    ),
    Setting(
        "TILECORE_INTERPRET",
        flag,
        _FLAG,
        False,
        "whether the interpreter runs kernels, on numpy, with every access checked",
    ),
    Setting(
        "TILECORE_SIMULATE",
        flag,
        _FLAG,
        False,
        "whether kernels run on the simulated device, or in the interpreter where their target has none",
    ),
    Setting(
        "TILECORE_SIMULATE_SEED",
        whole(0),
        "a whole number, 0 or more",
        0,
        "the order in which the simulated device runs threads and blocks",
    ),
    Setting(
        "TILECORE_SIMULATE_TIMEOUT",
        whole(1),
        "a whole number of seconds, 1 or more",
        120,
        "the seconds after which a kernel in a target's own simulator is stopped",
    ),
    Setting(
        "TILECORE_NUM_THREADS",
        whole(1, 4096),
        "a whole number, 1 to 4096",
        None,
        "the number of CPU threads that run a kernel",
    ),
    Setting(
        "TILECORE_LINE_INFO",
        flag,
        _FLAG,
        False,
        "whether compiled kernels name your lines, for profilers and debuggers",
    ),
    Setting(
        "TILECORE_RANGES",
        names("torch", "device"),
        "torch, device, or both with a comma between them",
        None,
        "which profilers show a range for each launch: torch (torch.profiler), device (its vendor's), or torch,device",
    ),
    Setting("TILECORE_PURE_PYTHON", flag, _FLAG, False, "whether the built extensions are not used"),
)


def target() -> str:
    """Target of kernels that do not name one; ``"auto"``: the first whose device is present, else the host."""
    return SETTINGS["TILECORE_TARGET"].read()


def execution_backend() -> str:
    """Execution backend of kernels that do not name one; ``"auto"``: the target's first that is available."""
    return SETTINGS["TILECORE_EXECUTION_BACKEND"].read()


def verbose() -> bool:
    return SETTINGS["TILECORE_VERBOSE"].read()


def print_on_compilation() -> bool:
    return SETTINGS["TILECORE_PRINT_ON_COMPILATION"].read()


def cache_dir() -> str | None:
    """Absolute path of the kernel cache; None when no home directory is known and TILECORE_CACHE_DIR is not set."""
    path = SETTINGS["TILECORE_CACHE_DIR"].read()
    path = os.path.expanduser(path) if path else default_cache_dir()
    # without a home directory "~" stays, and the path would be relative to the working directory
    return None if path.startswith("~") else os.path.abspath(path)


def data_dir() -> str | None:
    """Absolute path of the folder of installed toolchains; None as for :func:`cache_dir`."""
    path = SETTINGS["TILECORE_DATA_DIR"].read()
    path = os.path.expanduser(path) if path else _user_dir("data", "XDG_DATA_HOME", "~/.local/share")
    return None if path.startswith("~") else os.path.abspath(path)


def cache_size() -> int:
    """Maximum size of the kernel cache on disk, in bytes."""
    return SETTINGS["TILECORE_CACHE_SIZE"].read()


def cache_age() -> float | None:
    """Seconds after which files of the kernel cache that nobody has used are removed; None: they are kept."""
    return SETTINGS["TILECORE_CACHE_AGE"].read()


def cache_path() -> tuple[str, ...] | None:
    """Absolute paths of the read-only layers under the kernel cache: cache directories and bundle files, or None."""
    return SETTINGS["TILECORE_CACHE_PATH"].read()


def cached_only() -> bool:
    """Whether a kernel that no cache and no bundle has raises an error instead of being compiled."""
    return SETTINGS["TILECORE_CACHED_ONLY"].read()


def trusted_keys() -> tuple[str, ...] | None:
    """Absolute paths of the files of public keys whose signed bundles are trusted; None: the default ones."""
    return SETTINGS["TILECORE_TRUSTED_KEYS"].read()


def default_trusted_keys() -> tuple[str, ...]:
    """The files of public keys where TILECORE_TRUSTED_KEYS is not set; they need not exist."""
    return paths(os.pathsep.join((os.path.join(_config_dir(), "trusted_keys"), "/etc/tilecore/trusted_keys")))


def disable_cache() -> bool:
    return SETTINGS["TILECORE_DISABLE_CACHE"].read()


def auto_tuning_disable_cache() -> bool:
    return SETTINGS["TILECORE_AUTO_TUNING_DISABLE_CACHE"].read()


def debug() -> int:
    """The level of debug output, 0 (none) to 6."""
    return SETTINGS["TILECORE_DEBUG"].read()


def dump() -> str | None:
    """Absolute path of the directory for the files of compilation steps, or None."""
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
    """Whether the interpreter runs kernels."""
    return SETTINGS["TILECORE_INTERPRET"].read()


def simulate() -> bool:
    return SETTINGS["TILECORE_SIMULATE"].read()


def simulate_seed() -> int:
    """Seed of the order in which the simulated device runs threads and blocks."""
    return SETTINGS["TILECORE_SIMULATE_SEED"].read()


def simulate_timeout() -> int:
    """Seconds after which a kernel in a target's own simulator, or in its vendor's, is stopped."""
    return SETTINGS["TILECORE_SIMULATE_TIMEOUT"].read()


def num_threads() -> int | None:
    """CPU threads that run a kernel; None: as many as the process may use."""
    return SETTINGS["TILECORE_NUM_THREADS"].read()


def line_info() -> bool:
    """Whether compiled kernels name the user's lines, as with the pass configuration tl.emit_line_directives."""
    return SETTINGS["TILECORE_LINE_INFO"].read()


def ranges() -> tuple[str, ...] | None:
    """The profilers in which launches of kernels that are loaded from now on are ranges: "torch", "device"."""
    return SETTINGS["TILECORE_RANGES"].read()


def pure_python() -> bool:
    """Whether the Python launcher is used even where the extensions are built."""
    return SETTINGS["TILECORE_PURE_PYTHON"].read()


def unknown() -> list[str]:
    """TILECORE_* variables of the environment that are not settings, such as misspelt ones."""
    return sorted(name for name in os.environ if name.startswith("TILECORE_") and name not in SETTINGS)


def _config_dir() -> str:
    """The folder of the user's configuration of tilecore, by the rule of XDG."""
    xdg = os.environ.get("XDG_CONFIG_HOME", "").strip()
    return os.path.join(xdg if os.path.isabs(xdg) else os.path.expanduser("~/.config"), "tilecore")


def default_cache_dir() -> str:
    """Path of the kernel cache where TILECORE_CACHE_DIR is not set; it starts with "~" when no home is known."""
    return _user_dir("cache", "XDG_CACHE_HOME", "~/.cache")


def _user_dir(kind: str, variable: str, default: str) -> str:
    """The user's folder of tilecore's data or cache. On Linux the rule of platformdirs (a test compares them), whose
    import takes longer than a warm start: the folder that the variable names, else the default one."""
    if sys.platform == "linux" and "ANDROID_DATA" not in os.environ:
        named = os.environ.get(variable, "").strip()
        return os.path.join(named if os.path.isabs(named) else os.path.expanduser(default), "tilecore")
    import platformdirs

    folder: str = getattr(platformdirs, f"user_{kind}_dir")("tilecore", appauthor=False)
    return folder
