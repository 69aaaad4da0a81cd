"""GELU, element by element, with a macro: a function that is inlined into the kernel where it is called.

python examples/gelu.py --target cpu --n 1000000
"""

import argparse

import torch

import tilecore
import tilecore.language as T


@T.macro
def gelu_of(x):
    """x times the standard normal distribution function at x, by the tanh formula."""
    inner = 0.7978845608 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + T.tanh(inner))


def gelu(N, block=1024, dtype="float32"):
    @T.prim_func
    def gelu_kernel(X: T.Tensor((N,), dtype), Y: T.Tensor((N,), dtype)):
        with T.Kernel(T.ceildiv(N, block), threads=128) as bx:
            for i in T.Parallel(block):
                Y[bx * block + i] = gelu_of(X[bx * block + i])

    return gelu_kernel


EXPLAIN = ["gelu(1000000)"]  # for `tilecore explain --targets`


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--n", type=int, default=1_000_000)
    options = parser.parse_args(words)

    kernel = tilecore.compile(gelu(options.n), target=options.target, out_idx=-1)
    x = 3 * torch.randn(options.n, device=kernel.adapter.torch_device())
    expected = torch.nn.functional.gelu(x, approximate="tanh")
    torch.testing.assert_close(kernel(x), expected, rtol=1e-5, atol=1e-6)
    print(f"gelu: {options.n} elements right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
