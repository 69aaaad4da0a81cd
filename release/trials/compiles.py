"""Where tilecore[all] is installed: compiles a kernel for the host, launches it, and exports it to the path given."""

import sys

import numpy as np

import tilecore
import tilecore.language as T


@tilecore.jit(out_idx=-1)
def product(M, N, K):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float32"), B: T.Tensor((K, N), "float32"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), threads=128) as (bx, by):
            a, b = T.alloc_shared((32, K), "float32"), T.alloc_shared((K, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A[by * 32, 0], a)
            T.copy(B[0, bx * 32], b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C[by * 32, bx * 32])

    return kernel


if __name__ == "__main__":
    from tilecore.runtime.launcher import Launcher, built

    assert built()[0], built()[1]
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((128, 96), np.float32), rng.standard_normal((96, 160), np.float32)
    kernel = tilecore.compile(product.get_tir(128, 160, 96), target="cpu", out_idx=[2])
    np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-4, atol=1e-4)
    kernel.export(sys.argv[1])
    print(f"compiled and ran, by {Launcher.__module__}")
