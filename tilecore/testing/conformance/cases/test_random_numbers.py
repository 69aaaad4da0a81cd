"""T.rng_*: the same bits on every target, those of Philox4x32-10."""

from functools import partial

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import LanguageError, UnsupportedError
from tilecore.interpreter import interpret

from .kit import check, close, zeros

MASK = 0xFFFFFFFF


def philox(counter, key):
    """Philox4x32-10 on Python's integers."""
    c, k = list(counter), list(key)
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(second >> 32) ^ c[1] ^ k[0], second & MASK, (first >> 32) ^ c[3] ^ k[1], first & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def words(seed, sequence, start, count):
    seed, sequence = seed % 2**64, sequence % 2**64
    key = (seed & MASK, seed >> 32)
    outputs = []
    for p in range(start, start + count):
        block = p // 4
        outputs.append(philox((block & MASK, block >> 32, sequence & MASK, sequence >> 32), key)[p % 4])
    return np.array(outputs, np.uint32)


def test_the_reference_gives_the_known_answers():
    """The test vectors that come with the authors' library."""
    all_bits = [MASK] * 6
    pi = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0]
    published = [
        ([0] * 6, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (all_bits, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (pi, "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ]
    for numbers, expected in published:
        assert " ".join(f"{w:08x}" for w in philox(numbers[:4], numbers[4:])) == expected


@pytest.mark.parametrize(
    ("seed", "sequence", "start"), [(0, 0, 0), (42, 7, 6), (-3, 2**40 + 5, 2**34 + 3), (2**63 + 11, -1, 1)]
)
def test_positions_seeds_and_sequences(target, seed, sequence, start):
    @T.prim_func
    def kernel(A: T.Tensor((12,), "uint32"), B: T.Tensor((5, 3), "uint32"), S: T.Tensor((1,), "int64")):
        with T.Kernel(1, threads=1):
            T.rng_init(seed, sequence, S[0])
            for i in T.serial(3):
                A[i] = T.rng_rand()
            for i, j in T.Parallel(5, 3):
                B[i, j] = T.rng_rand()
                if j > 0:
                    B[i, j] = B[i, j] ^ T.rng_rand()
            for i in T.serial(9):
                A[3 + i] = T.rng_rand()

    arrays = zeros("uint32", 12), zeros("uint32", (5, 3)), np.array([start], np.int64)
    a, b, _ = check(kernel, target, *arrays)
    expected = words(seed, sequence, start, 3 + 30 + 9)
    np.testing.assert_array_equal(a, np.concatenate([expected[:3], expected[33:]]))
    pairs = expected[3:33].reshape(5, 3, 2)
    np.testing.assert_array_equal(b, pairs[..., 0] ^ np.where(np.arange(3) > 0, pairs[..., 1], 0))


def test_every_thread_and_block_has_its_sequence(target):
    @T.prim_func
    def kernel(A: T.Tensor((3, 2, 6, 4), "uint32"), B: T.Tensor((3, 2, 5), "uint32")):
        with T.Kernel(2, 3, threads=(3, 2)) as (bx, by):
            tx, ty = T.get_thread_binding(0), T.get_thread_binding(1)
            T.rng_init(5)
            for k in T.serial(2):
                A[by, bx, tx + 3 * ty, k] = T.rng_rand()
            for i in T.Parallel(5):
                B[by, bx, i] = T.rng_rand()
            if tx > 0:
                A[by, bx, tx + 3 * ty, 2] = T.rng_rand()

    a, b = check(kernel, target, zeros("uint32", (3, 2, 6, 4)), zeros("uint32", (3, 2, 5)))
    for by, bx in np.ndindex(3, 2):
        block = (bx + 2 * by) * 6
        for t in range(6):
            np.testing.assert_array_equal(a[by, bx, t, :2], words(5, block + t, 0, 2))
            assert a[by, bx, t, 2] == (words(5, block + t, 7, 1)[0] if t % 3 else 0)
        np.testing.assert_array_equal(b[by, bx], words(5, block, 2, 5))
    assert len(np.unique(a[..., :2])) == 72


def test_floats(target):
    @T.prim_func
    def kernel(F: T.Tensor((500,), "float32"), D: T.Tensor((500,), "float64"), N: T.Tensor((2, 4000), "float32")):
        with T.Kernel(1):
            T.rng_init(9, 1)
            for i in T.Parallel(500):
                F[i] = T.rng_rand_float()
            for i in T.Parallel(500):
                D[i] = T.rng_rand_float(bit=64)
            for i, j in T.Parallel(2, 4000):
                N[i, j] = T.rng_rand_float(dist="normal")

    f, d, n = check(
        kernel,
        target,
        zeros("float32", 500),
        zeros("float64", 500),
        zeros("float32", (2, 4000)),
        compare=partial(close, steps=64),
    )
    w = words(9, 1, 0, 1500).astype(np.uint64)
    np.testing.assert_array_equal(f, ((w[:500] >> np.uint64(8)) + np.uint64(1)).astype(np.float32) * np.float32(2**-24))
    bits = (w[500::2] << np.uint64(32)) | w[501::2]
    np.testing.assert_array_equal(d, ((bits >> np.uint64(11)) + np.uint64(1)).astype(np.float64) * 2.0**-53)
    assert f.min() > 0
    assert f.max() <= 1
    assert abs(n.mean()) < 0.05
    assert abs(n.std() - 1) < 0.05


def test_wrong_uses_are_refused():
    def build(body):
        @T.prim_func
        def kernel(A: T.Tensor((8,), "uint32")):
            with T.Kernel(1):
                body(A)

        return kernel

    @T.macro
    def before(A):
        A[0] = T.rng_rand()

    @T.macro
    def inside(A):
        for i in T.Parallel(8):
            T.rng_init(1)
            A[i] = T.rng_rand()

    @T.macro
    def deeper(A):
        T.rng_init(1)
        for i in T.Parallel(8):
            for _ in T.serial(2):
                A[i] = T.rng_rand()

    @T.macro
    def other(A):
        T.rng_init(1, generator="xorwow")

    @T.macro
    def bits(A):
        T.rng_init(1)
        A[0] = T.cast(T.rng_rand_float(bit=16), "uint32")

    for body, kind, text in (
        (before, LanguageError, "before T.rng_init"),
        (inside, LanguageError, "T.rng_init stands in T.Parallel"),
        (deeper, UnsupportedError, "in a loop inside T.Parallel"),
        (other, UnsupportedError, "xorwow"),
        (bits, LanguageError, "bit=16"),
    ):
        with pytest.raises(kind, match=text):
            build(body)


def test_draws_are_independent_of_the_order_of_blocks():
    @T.prim_func
    def kernel(A: T.Tensor((40,), "uint32")):
        with T.Kernel(5) as b:
            T.rng_init(3)
            for i in T.Parallel(8):
                A[b * 8 + i] = T.rng_rand()

    first, second = np.zeros(40, np.uint32), np.zeros(40, np.uint32)
    interpret(kernel.ir, first)
    interpret(kernel.ir, second, block_order="seeded", seed=1)
    np.testing.assert_array_equal(first, second)
    assert len(np.unique(first)) == 40
