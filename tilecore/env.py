"""Offers the settings as attributes: ``from tilecore.env import env``, then ``env.TILECORE_CACHE_DIR``.

TileLang's names, such as ``env.TILELANG_CACHE_DIR``, stand for the variable of tilecore with the same meaning. Reading
gives the current value; assigning changes the variable for this process and those that it starts. Their types,
defaults and legal values are in ``tilecore.settings``.
"""

from __future__ import annotations

import os
from typing import Any

from tilecore import settings
from tilecore.cache import disable_cache, enable_cache, is_cache_enabled
from tilecore.nearest import did_you_mean
from tilecore.settings import SETTINGS

# TileLang's name: name of the setting of tilecore
_NAMES = {
    "TILELANG_CACHE_DIR": "TILECORE_CACHE_DIR",
    "TILELANG_DISABLE_CACHE": "TILECORE_DISABLE_CACHE",
    "TILELANG_AUTO_TUNING_DISABLE_CACHE": "TILECORE_AUTO_TUNING_DISABLE_CACHE",
    "TILELANG_PRINT_ON_COMPILATION": "TILECORE_PRINT_ON_COMPILATION",
    "TILELANG_DEFAULT_TARGET": "TILECORE_TARGET",
    "TILELANG_DEFAULT_EXECUTION_BACKEND": "TILECORE_EXECUTION_BACKEND",
    "TILELANG_DEFAULT_VERBOSE": "TILECORE_VERBOSE",
}
# Variables of TileLang that have no counterpart, and what to do here.
NOTES = {
    "TILELANG_TMP_DIR": "temporary files are in the system's folder, which TMPDIR sets",
    "TILELANG_CLEANUP_TEMP_FILES": "temporary files are always removed; TILECORE_DUMP=FOLDER keeps those of every step",
    "TILELANG_KERNEL_CACHE_USE_LIB_STAMP": "cache keys contain the versions and files of tilecore and of the backend",
    "TILELANG_JIT_DIAGNOSTICS": "TILECORE_DEBUG=2 prints the time of every step",
    "TILELANG_PASS_PROFILE": "TILECORE_DEBUG=2 prints the time of every step",
    "TILELANG_PASS_PROFILE_THRESHOLD_MS": "TILECORE_DEBUG=2 prints the time of every step",
    "TILELANG_PASS_DIFF": "TILECORE_DUMP=FOLDER writes the IR after every pass",
    "TILELANG_PASS_DIFF_OUTPUT": "TILECORE_DUMP=FOLDER writes the IR after every pass",
    "TL_LOWER_TRACE": "TILECORE_DUMP=FOLDER writes the IR after every pass",
    "TL_LOWER_TRACE_DIR": "TILECORE_DUMP=FOLDER writes the IR after every pass",
    "TILELANG_ENABLE_IR_SPAN": "every node of the IR has its source line",
    "TILELANG_COMPILE_TIMEOUT_SECONDS": "AutoTuner.run(timeout=...) limits the time of a configuration",
    "TILELANG_AUTO_TUNING_CPU_UTILITIES": "par_compile(num_workers=...) sets the number of parallel compilations",
    "TILELANG_AUTO_TUNING_CPU_COUNTS": "par_compile(num_workers=...) sets the number of parallel compilations",
    "TILELANG_AUTO_TUNING_MAX_CPU_COUNT": "par_compile(num_workers=...) sets the number of parallel compilations",
    "TILELANG_LAYOUT_COST_MODEL": "layouts are chosen by each target; T.annotate_layout sets one",
    "TILELANG_TEMPLATE_PATH": "each backend brings its headers; get_kernel_source() shows what they are used for",
    "CUTLASS_INCLUDE_DIR": "emitted source needs no such headers; compile_flags=['-I...'] adds folders",
    "COMPOSABLE_KERNEL_INCLUDE_DIR": "emitted source needs no such headers; compile_flags=['-I...'] adds folders",
    "TVM_IMPORT_PYTHON_PATH": "tilecore uses the package apache-tvm of the environment",
    "TVM_LIBRARY_PATH": "tilecore uses the package apache-tvm of the environment",
    "SKIP_LOADING_TILELANG_SO": "nothing is loaded before it is used",
}
_READERS = {"TILECORE_CACHE_DIR": settings.cache_dir, "TILECORE_DATA_DIR": settings.data_dir}  # with their defaults


class CacheState:
    """Whether this process uses the cache on disk."""

    @staticmethod
    def enable() -> None:
        """See :func:`tilecore.enable_cache`."""
        enable_cache()

    @staticmethod
    def disable() -> None:
        """See :func:`tilecore.disable_cache`."""
        disable_cache()

    @staticmethod
    def is_enabled() -> bool:
        """See :func:`tilecore.is_cache_enabled`."""
        return is_cache_enabled()


class Environment:
    """The settings by name. An unknown name raises AttributeError with the nearest name."""

    def __getattr__(self, name: str) -> Any:
        setting = _setting(name)
        return _READERS.get(setting, SETTINGS[setting].read)()

    def __setattr__(self, name: str, value: Any) -> None:
        """Set the variable; None unsets it. Raises SettingError for an invalid value."""
        setting = _setting(name)
        before = os.environ.pop(setting, None)
        if value is None:
            return
        os.environ[setting] = ("1" if value else "0") if isinstance(value, bool) else str(value)
        try:
            SETTINGS[setting].read()
        except settings.SettingError:
            os.environ.pop(setting)
            if before is not None:
                os.environ[setting] = before
            raise

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_NAMES, *SETTINGS})

    def enable_cache(self) -> None:
        enable_cache()

    def disable_cache(self) -> None:
        disable_cache()

    def is_cache_enabled(self) -> bool:
        return is_cache_enabled()

    def is_cache_globally_disabled(self) -> bool:
        """Whether the settings disable the cache on disk."""
        return settings.disable_cache()

    def is_autotune_cache_disabled(self) -> bool:
        return settings.auto_tuning_disable_cache()

    def is_print_on_compilation_enabled(self) -> bool:
        return settings.print_on_compilation()

    def get_default_target(self) -> str:
        """The target of kernels that do not name one."""
        return settings.target()

    def get_default_execution_backend(self) -> str:
        return settings.execution_backend()

    def get_default_verbose(self) -> bool:
        return settings.verbose()


def _setting(name: str) -> str:
    setting = _NAMES.get(name, name)
    if setting in NOTES:
        raise AttributeError(f"tilecore has no setting {setting!r}; instead: {NOTES[setting]}")
    if setting not in SETTINGS:
        hint = None if name.startswith("__") else did_you_mean(name, [*_NAMES, *SETTINGS])
        raise AttributeError(f"tilecore has no setting {name!r}" + (f"; {hint}" if hint else ""))
    return setting


env = Environment()


def __getattr__(name: str) -> Any:
    """Attributes of ``env`` are attributes of this module, too."""
    return getattr(env, name)
