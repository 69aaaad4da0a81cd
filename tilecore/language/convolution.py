"""T.im2col: the windows of an image as the rows of a matrix, one tile at a time."""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.build import constant
from tilecore.language.buffers import BufferHandle
from tilecore.language.conditions import logical_and
from tilecore.language.conversions import convert
from tilecore.language.loops import Parallel
from tilecore.language.numeric import if_then_else
from tilecore.language.regions import describe, region_of
from tilecore.language.values import as_expr
from tilecore.tracing.current import current
from tilecore.tracing.loops import open_loop


def im2col(
    img: Any,
    col: Any,
    nhw_step: Any,
    c_step: Any,
    kernel: int,
    stride: int,
    dilation: int,
    pad: int,
    eviction_policy: Any = None,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Fill tile ``col`` [rows, columns] with the windows of the image ``img`` [N, H, W, C].

    Row m = nhw_step * rows + i of the whole matrix is output pixel (n, oh, ow), numbered with ow fastest; column
    k = c_step * columns + j is (kh, kw, c) of the window, c fastest. The element is
    ``img[n, oh * stride - pad + kh * dilation, ow * stride - pad + kw * dilation, c]``, 0 outside the image.
    kernel: the window is kernel x kernel. The output has (H + 2 pad - dilation (kernel - 1) - 1) // stride + 1 rows.
    """
    source, target = region_of(img, "T.im2col"), region_of(col, "T.im2col")
    image = source.source
    if len(image.shape) != 4 or len(target.region) < 2:
        raise LanguageError(
            "T.im2col: the shapes do not fit", found=f"{describe(source)} and {describe(target)}",
            expected="an image [N, H, W, C] and a tile [rows, columns]",
        )  # fmt: skip
    numbers = {"kernel": kernel, "stride": stride, "dilation": dilation, "pad": pad}
    for name, number in numbers.items():
        if not isinstance(number, int) or number < (0 if name == "pad" else 1):
            raise LanguageError(
                f"T.im2col: {name} is {number!r}",
                expected="an int of 0 or more" if name == "pad" else "an int of 1 or more",
            )
    rows, columns = (constant(r.extent) for r in target.region[-2:])
    if rows is None or columns is None:
        raise LanguageError("T.im2col: the size of the tile is not known when compiling", found=describe(target))
    builder = current("T.im2col")
    with open_loop(builder, Parallel(rows, columns, annotations=annotations), ("i", "j")) as (i, j):
        value = _element(
            image, as_expr(nhw_step) * rows + i, as_expr(c_step) * columns + j, kernel, stride, dilation, pad
        )
        *outer, row, column = (r.min for r in target.region)
        tile = BufferHandle(target.source)
        tile.write((*outer, row + i, column + j), convert(value, tile.dtype))


c2d_im2col = im2col


def _element(image: Any, m: Any, k: Any, kernel: int, stride: int, dilation: int, pad: int) -> Any:
    """Element (m, k) of the matrix of windows."""
    _, height, width, channels = image.shape
    window = dilation * (kernel - 1) + 1
    out_height = (height + (2 * pad - window)) // stride + 1
    out_width = (width + (2 * pad - window)) // stride + 1
    y = m // out_width % out_height * stride + (k // (channels * kernel) * dilation - pad)
    x = m % out_width * stride + (k // channels % kernel * dilation - pad)
    inside = k < channels * (kernel * kernel)
    for position, size in ((y, height), (x, width)):
        inside = logical_and(inside, logical_and(position >= 0, position < size))
    handle = BufferHandle(image)
    return if_then_else(inside, handle[m // (out_height * out_width), y, x, k % channels], 0)
