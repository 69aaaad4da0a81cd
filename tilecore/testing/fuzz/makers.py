"""The makers of random statements, with their weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tilecore.testing.fuzz.flow import condition, counted_loop, k_loop, while_loop
from tilecore.testing.fuzz.forms import in_place, layout, reshaped, viewed
from tilecore.testing.fuzz.iterations import every_second_element, exchange_pairs, partly_written, several_statements
from tilecore.testing.fuzz.neighbours import condition_of_shared, loop_of_shared, shifted, while_of_shared
from tilecore.testing.fuzz.outputs import store
from tilecore.testing.fuzz.statements import (
    copy,
    fill,
    gemm,
    load,
    parallel,
    part_copy,
    product_loop,
    reduce,
    scan,
    transpose,
)
from tilecore.testing.fuzz.sums import atomic, histogram, reducer

if TYPE_CHECKING:
    from tilecore.testing.fuzz.scope import Scope

MAKERS: tuple[tuple[float, Callable[[Scope], None]], ...] = (
    (2, load), (6, parallel), (2, copy), (1, part_copy), (1.5, transpose), (1, fill), (2, gemm), (2, product_loop),
    (3, reduce), (1.5, scan), (1, reducer), (2, k_loop), (1.5, counted_loop), (0.7, while_loop), (1.5, condition),
    (1.5, store), (1, atomic), (0.6, histogram), (1, reshaped), (0.5, viewed), (1, in_place), (0.4, layout),
    (4, several_statements), (0.7, partly_written), (0.7, exchange_pairs), (0.7, every_second_element),
    (1.2, shifted), (0.6, condition_of_shared), (0.4, while_of_shared), (0.4, loop_of_shared),
)  # fmt: skip
