"""Parses the options of a command: a mistyped one gets the command's usage, and the option that is most like it."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from tilecore.nearest import nearest


class CommandParser(ArgumentParser):
    """The parser of one command, such as ``tilecore compile``. By itself argparse has the parser above it, which knows
    the commands only, refuse what a command does not know."""

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """The arguments. Words that the command does not know end the process with code 2, as all wrong usage does."""
        for word in args or ():
            if word in ("--", "-h", "--help"):
                break
            if word.startswith("--") and " " not in word and not self._has_option(word):
                self._refuse([word])
        arguments, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self._refuse(unknown)
        return arguments, unknown

    def _has_option(self, word: str) -> bool:
        """Whether a word that begins with two dashes is an option, or the beginning of one."""
        name = word.partition("=")[0]
        return any(option.startswith(name) for option in self._options())

    def _options(self) -> list[str]:
        return [option for action in self._actions for option in action.option_strings]

    def _refuse(self, unknown: Sequence[str]) -> None:
        """End the process. An option that is like a mistyped one is named."""
        first = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
        close = None if first is None else nearest(first, self._options())
        hint = f"did you mean {close}?" if close else f"`{self.prog} --help` describes what it takes"
        self.error(f"unrecognized arguments: {' '.join(unknown)}; {hint}")
