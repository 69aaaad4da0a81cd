"""Convolution as a GEMM whose left matrix is never stored (implicit GEMM): NHWC, with stride, padding and dilation.

A row of the left matrix is an output pixel, its columns are the pixels and channels that its window covers: T.im2col
gathers a tile of them at a time from the image, zeros for what lies outside. The right matrix is the filters, [kernel,
kernel, channels] by filters.

    python examples/conv2d.py --target cpu --height 28 --width 28 --channels 64 --filters 64 --padding 1
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def out_size(size, kernel, stride, padding, dilation):
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def conv2d(
    batch, height, width, channels, filters, kernel=3, stride=1, padding=0, dilation=1, block_M=64, block_N=64,
    block_K=32, stages=2, threads=128, dtype="float16",
):  # fmt: skip
    """Image [batch, height, width, channels], Weight [kernel, kernel, channels, filters]; Out [batch, out height, out
    width, filters]."""
    out_height, out_width = (out_size(size, kernel, stride, padding, dilation) for size in (height, width))
    if out_height < 1 or out_width < 1:
        covered = dilation * (kernel - 1) + 1
        raise ValueError(f"a window of {covered} does not fit into {height} x {width} with {padding} around it")
    M, N, K = batch * out_height * out_width, filters, kernel * kernel * channels

    @T.prim_func
    def conv2d_kernel(
        Image: T.Tensor((batch, height, width, channels), dtype),
        Weight: T.Tensor((kernel, kernel, channels, filters), dtype),
        Out: T.Tensor((batch, out_height, out_width, filters), dtype),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            weights, out = T.reshape(Weight, (K, N)), T.reshape(Out, (M, N))  # the same memory
            windows = T.alloc_shared((block_M, block_K), dtype)
            W_shared = T.alloc_shared((block_K, block_N), dtype)
            out_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(out_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.im2col(Image, windows, by, k, kernel, stride, dilation, padding)
                T.copy(weights[k * block_K, bx * block_N], W_shared)  # zeros in the rows from K on
                T.gemm(windows, W_shared, out_local)
            T.copy(out_local, out[by * block_M, bx * block_N])

    return conv2d_kernel


EXPLAIN = ["conv2d(1, 28, 28, 64, 64)"]  # for `tilecore explain --targets`


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--height", type=int, default=28)
    parser.add_argument("--width", type=int, default=28)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--filters", type=int, default=64)
    parser.add_argument("--kernel", type=int, default=3)
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--padding", type=int, default=0)
    parser.add_argument("--dilation", type=int, default=1)
    options = parser.parse_args(words)
    window = {"stride": options.stride, "padding": options.padding, "dilation": options.dilation}
    image_shape = (options.batch, options.height, options.width, options.channels)

    kernel = tilecore.jit(conv2d, target=options.target, out_idx=-1)(
        *image_shape, options.filters, options.kernel, **window
    )
    device = kernel.adapter.torch_device()
    image = torch.randn(image_shape, device=device).half()
    weight = torch.randn(options.kernel, options.kernel, options.channels, options.filters, device=device)
    weight = (weight / (options.kernel**2 * options.channels) ** 0.5).half()
    # torch: channels before height and width, filters before channels
    expected = torch.nn.functional.conv2d(
        image.float().permute(0, 3, 1, 2), weight.float().permute(3, 2, 0, 1), **window
    )
    torch.testing.assert_close(kernel(image, weight).float(), expected.permute(0, 2, 3, 1), rtol=2e-3, atol=2e-3)
    print(f"conv2d: {'x'.join(map(str, image_shape))} to {options.filters} filters right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
