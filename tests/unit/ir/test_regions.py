"""What regions cover, and where the elements of a matrix in them lie."""

import pytest

from tilecore.ir.build import constant
from tilecore.ir.nodes import BufferRegion, Range, Var, tirx
from tilecore.ir.regions import element_indices, is_whole


def region(shape, *ranges):
    buffer = tirx.decl_buffer(list(shape), "float32", "x", layout=None)
    return BufferRegion(buffer, [Range.from_min_extent(first, count) for first, count in ranges])


@pytest.mark.parametrize(
    ("ranges", "whole"),
    [
        (((0, 4), (0, 8)), True),
        (((0, 4), (0, 7)), False),
        (((0, 4), (1, 8)), False),
        (((1, 3), (0, 8)), False),
    ],
)
def test_a_region_is_whole_when_it_covers_its_buffer(ranges, whole):
    assert is_whole(region((4, 8), *ranges)) is whole


def test_sizes_that_are_not_known_are_not_known_to_be_covered():
    n = Var("n", "int32")
    assert not is_whole(region((n, 8), (0, n), (0, 8)))


def test_element_of_a_matrix_in_the_last_two_axes():
    part = region((3, 16, 16), (2, 1), (4, 8), (8, 8))
    assert [constant(i) for i in element_indices(part, tirx.const(1, "int32"), tirx.const(5, "int32"))] == [2, 5, 13]
