"""Offers the settings as attributes: ``from tilecore.env import env``, then ``env.TILECORE_CACHE_DIR``.

TileLang's names, such as ``env.TILELANG_CACHE_DIR``, stand for the variable of tilecore with the same meaning. Reading
gives the current value; assigning changes the variable for this process and those that it starts. Their types,
defaults and legal values are in ``tilecore.settings``.
"""

from __future__ import annotations

import difflib
import os
from typing import Any

from tilecore import settings
from tilecore.cache import disable_cache, enable_cache, is_cache_enabled
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
    if setting not in SETTINGS:
        close = [] if name.startswith("__") else difflib.get_close_matches(name, [*_NAMES, *SETTINGS], 1)
        raise AttributeError(f"tilecore has no setting {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
    return setting


env = Environment()


def __getattr__(name: str) -> Any:
    """Attributes of ``env`` are attributes of this module, too."""
    return getattr(env, name)
