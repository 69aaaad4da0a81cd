"""C = A B, or C += A B, of matrices that may be transposed."""

from typing import Any

import tilecore.language as T


def product(
    m: int,
    n: int,
    k: int,
    form: str = "NN",
    dtype: str = "float16",
    total: str = "float32",
    out: str = "",
    adds: bool = False,
    blocks: tuple[int, int, int] = (64, 64, 64),
    stages: int = 2,
) -> Any:
    """A (m, k) and B (k, n) of ``dtype``. form: a T for each of them that is transposed. The sums have the type
    ``total``, C (m, n) the type ``out``. adds: the product is added to C."""
    out = out or total
    turned_a, turned_b = (letter == "T" for letter in form)
    block_m, block_n, block_k = blocks
    shape_a, shape_b = ((k, m) if turned_a else (m, k)), ((n, k) if turned_b else (k, n))
    tile_a = (block_k, block_m) if turned_a else (block_m, block_k)
    tile_b = (block_n, block_k) if turned_b else (block_k, block_n)

    @T.prim_func
    def product_kernel(A: T.Tensor(shape_a, dtype), B: T.Tensor(shape_b, dtype), C: T.Tensor((m, n), out)):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=128) as (bx, by):
            a, b = T.alloc_shared(tile_a, dtype), T.alloc_shared(tile_b, dtype)
            c = T.alloc_fragment((block_m, block_n), total)
            if adds:
                T.copy(C[by * block_m, bx * block_n], c)
            else:
                T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=stages):
                if turned_a:
                    T.copy(A[step * block_k, by * block_m], a)
                else:
                    T.copy(A[by * block_m, step * block_k], a)
                if turned_b:
                    T.copy(B[bx * block_n, step * block_k], b)
                else:
                    T.copy(B[step * block_k, bx * block_n], b)
                T.gemm(a, b, c, transpose_A=turned_a, transpose_B=turned_b)
            T.copy(c, C[by * block_m, bx * block_n])

    return product_kernel
