"""Defines the types of the numeric options of the command line.

A wrong number is an error of usage: argparse names the option, the type says what it got and what it expected.
"""

from __future__ import annotations

import math
from argparse import ArgumentTypeError
from collections.abc import Callable

from tilecore import setting_values, settings

LONGEST_TIMEOUT = 86_400  # seconds; the system's calls that wait for processes overflow at 25 days
LONGEST_RUN = 525_600  # minutes


def whole_number(text: str, least: int) -> int:
    """The whole number that the text is; raises ArgumentTypeError where it is none or less than ``least``."""
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise ArgumentTypeError(f"got {text!r}, expected a whole number that is at least {least}")
    return number


def count(text: str) -> int:
    """A number of things, such as kernels or processes."""
    return whole_number(text, least=1)


def seed(text: str) -> int:
    """A seed of random numbers."""
    return whole_number(text, least=0)


def duration(unit: str, most: int) -> Callable[[str], float]:
    """The type of an option that takes a time. unit: seconds or minutes."""

    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not 0 < number <= most:  # not a number fails, too
            raise ArgumentTypeError(f"got {text!r}, expected a number of {unit} that is above 0 and at most {most}")
        return number

    return parse


def size(text: str) -> int:
    """A number of bytes, as TILECORE_CACHE_SIZE takes it."""
    try:
        return setting_values.size(text)
    except ValueError:
        raise ArgumentTypeError(f"got {text!r}, expected {settings.SIZE_TEXT}") from None


def age(text: str) -> float:
    """A number of seconds, as TILECORE_CACHE_AGE takes it."""
    try:
        return setting_values.duration(text)
    except ValueError:
        raise ArgumentTypeError(f"got {text!r}, expected {settings.DURATION_TEXT}") from None


timeout = duration("seconds", LONGEST_TIMEOUT)
minutes = duration("minutes", LONGEST_RUN)
