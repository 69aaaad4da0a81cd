"""``configs="auto"``: the configurations of a call are those that tilecore.heuristics proposes for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilecore import debug, settings
from tilecore.errors import ArgumentError
from tilecore.heuristics.calls import PROPOSED, CallConfigs, configs_for
from tilecore.heuristics.checks import integer_of, shown

if TYPE_CHECKING:
    from tilecore.autotune.configs import Config
    from tilecore.jit.impl import JITImpl

AUTO = "auto"
TRIES = 5  # configurations that are tried unless the user says how many
LOOKED_AT = 8  # that are compiled, at most, until one is legal, where none is timed


class AutoConfigs:
    """What ``configs="auto"`` stands for: called with the arguments of a call, it gives ``tries`` configurations.
    Where the kernel is verbose, it says once which values of the call no proposal has.

    Raises ArgumentError unless ``tries`` is at least 1.
    """

    def __init__(self, jit_impl: JITImpl, tries: int) -> None:
        number = integer_of(tries)
        if number is None or number < 1:
            raise ArgumentError("tries is not a number of configurations", found=shown(tries), expected="at least 1")
        self.jit_impl = jit_impl
        self.tries = number
        self._said: set[str] = set()

    @property
    def is_untimed(self) -> bool:
        """Whether the best configuration is used without a search."""
        return self.tries == 1

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Config]:
        configs, departure = self._of_call(args, kwargs)
        if departure and departure not in self._said and self._is_verbose():
            self._said.add(departure)
            name = getattr(self.jit_impl, "__name__", "kernel")
            debug.announce(f"{name}: {departure}; the other values are those of the nearest proposals")
        return configs

    def _is_verbose(self) -> bool:
        return bool(self.jit_impl.request().options.verbose) or settings.verbose()

    def needed(self) -> set[str]:
        """The parameters that proposals do not set."""
        return set(self.jit_impl.signature.parameters) - PROPOSED

    def departure(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        """Which values of the call no proposal has, in words; empty where there are none."""
        return self._of_call(args, kwargs).departure

    def _of_call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> CallConfigs:
        signature = self.jit_impl.call_signature(kwargs)
        bound = signature.bind_partial(*args, **kwargs)
        fixed = {name: value for name, value in bound.arguments.items() if value is not None}
        bound.apply_defaults()
        count = LOOKED_AT if self.is_untimed else self.tries
        target = self.jit_impl.request().target
        return configs_for(list(signature.parameters), bound.arguments, fixed, target, count)
