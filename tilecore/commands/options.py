"""Parses the words of the command line: mistyped commands and options get the usage, and the name that is most like
each."""

from __future__ import annotations

import sys
from argparse import Action, ArgumentError, ArgumentParser
from collections.abc import Sequence
from typing import Any

from tilecore.nearest import nearest


class CommandParser(ArgumentParser):
    """The parser of one command, such as ``tilecore compile``. By itself argparse has the parser above it, which knows
    the commands only, refuse what a command does not know."""

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """The arguments. Words that the command does not know end the process with code 2, as all wrong usage does."""
        words = sys.argv[1:] if args is None else list(args)
        for word in self._words_with_options(words):
            if word in ("--", "-h", "--help"):
                break
            if self._is_mistyped(word):
                self._refuse([word])
        arguments, unknown = super().parse_known_args(words, namespace)
        if unknown:
            self._refuse(unknown, behind=words[words.index("--") + 1 :] if "--" in words else ())
        return arguments, unknown

    def _words_with_options(self, words: Sequence[str]) -> Sequence[str]:
        """The words among which the options are that this parser knows."""
        return words

    def _check_value(self, action: Action, value: Any) -> None:
        """Argparse's check of a choice, whose error names the choice that is most like a mistyped one."""
        try:
            super()._check_value(action, value)
        except ArgumentError as error:
            close = nearest(value, action.choices or ()) if isinstance(value, str) else None
            if close is not None:
                error.message = f"{error.message}; did you mean {close}?"
            raise

    def _is_mistyped(self, word: str) -> bool:
        """Whether the word is neither an option, nor the beginning of one, nor what an option or a parameter takes."""
        return word.startswith("--") and " " not in word and not self._has_option(word)

    def _has_option(self, word: str) -> bool:
        name = word.partition("=")[0]
        return any(option.startswith(name) for option in self._options())

    def _options(self) -> list[str]:
        return [option for action in self._actions for option in action.option_strings]

    def _refuse(self, unknown: Sequence[str], behind: Sequence[str] = ()) -> None:
        """End the process. An option that is like a mistyped one is named. behind: the words behind ``--``."""
        first = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
        close = None if first is None else self._option_like(first)
        if close is None:
            hint = f"`{self.prog} --help` describes what it takes"
        elif unknown[0] in behind:
            hint = f"{close} is an option in front of -- only"
        else:
            hint = f"did you mean {close}?"
        self.error(f"unrecognized arguments: {' '.join(unknown)}; {hint}")

    def _option_like(self, mistyped: str) -> str | None:
        """The option that is most like a mistyped one, without regard to the dashes in front; of options of one letter
        only that letter."""
        options = {option.lstrip("-"): option for option in self._options()}
        name = mistyped.lstrip("-")
        close = name if name in options else nearest(name, [option for option in options if len(option) > 1])
        return None if close is None else options[close]


class ProgramParser(CommandParser):
    """The parser of ``tilecore`` itself, whose options stand in front of the command; behind it are the command's."""

    def _words_with_options(self, words: Sequence[str]) -> Sequence[str]:
        command = next((place for place, word in enumerate(words) if not word.startswith("-")), len(words))
        return words[:command]

    def _is_mistyped(self, word: str) -> bool:
        return word.startswith("-") and not self._has_option(word)
