"""T.rng_*: the same bits on every target, those of Philox4x32-10."""

from functools import partial

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import LanguageError, UnsupportedError
from tilecore.interpreter import interpret

from .kit import check, close, needs_type, zeros

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


# What cuRAND's device API gave, compiled for the host from its header of release 13: the first three of curand(),
# curand_uniform() and curand_uniform_double(), and the first curand_normal() and curand_normal_double(), each after
# curand_init(seed, sequence, offset).
CURAND = {
    "curandStateXORWOW_t": {
        (0, 0, 0): (
            [3179217846, 1883133293, 2220552389],
            [0.7402193546295166, 0.4384511411190033, 0.5170126557350159],
            [0.4384508447184235, 0.15698837485208433, 0.46250842073016324],
            0.2925366461277008,
            1.0710216055754271,
        ),
        (42, 0, 5): (
            [3621806847, 3031260296, 3889728505],
            [0.8432676196098328, 0.7057703137397766, 0.9056479930877686],
            [0.7057701477343414, 0.7789669709203502, 0.1247567778011564],
            -0.5614995956420898,
            -0.8210351640554069,
        ),
        (42, 3, 1000): (
            [1393009712, 3647501315, 3108613950],
            [0.32433533668518066, 0.849250078201294, 0.7237805724143982],
            [0.8492502335549315, 0.2482463510946003, 0.19146087407252038],
            -1.2181950807571411,
            0.5716319788081862,
        ),
        (1311768467463790320, 7, 12345678901): (
            [4220378891, 856917019, 1239557159],
            [0.9826335310935974, 0.19951653480529785, 0.2886068820953369],
            [0.19951652163487793, 0.6536885739925582, 0.11585399405898283],
            0.17784658074378967,
            -1.4766331708855134,
        ),
    },
    "curandStateMRG32k3a_t": {
        (0, 0, 0): (
            [545508615, 1368065476, 1327943825],
            [0.12701112031936646, 0.31852757930755615, 0.30918601155281067],
            [0.12701112207614923, 0.3185275654709575, 0.30918601565525805],
            1.846072793006897,
            1.846072786886996,
        ),
        (42, 0, 5): (
            [3645448362, 1561448439, 4013648836],
            [0.8487721085548401, 0.3635530471801758, 0.9345004558563232],
            [0.8487720886229926, 0.36355304531347626, 0.9345004419588001],
            0.43297696113586426,
            0.4329769968367396,
        ),
        (42, 3, 1000): (
            [3543861772, 1851448225, 3272923093],
            [0.8251196146011353, 0.4310738742351532, 0.7620368003845215],
            [0.8251196174998768, 0.4310738819405533, 0.7620367904346644],
            0.26021015644073486,
            0.2602101537542996,
        ),
        (1311768467463790320, 7, 12345678901): (
            [3355805025, 2714543395, 2559688258],
            [0.7813342213630676, 0.6320288777351379, 0.5959738492965698],
            [0.7813342440172232, 0.6320288859061053, 0.5959738647934371],
            -0.5181882381439209,
            -0.5181881444503886,
        ),
    },
}


@pytest.mark.parametrize("generator", ["curandStateXORWOW_t", "curandStateMRG32k3a_t"])
def test_the_numbers_are_those_of_curand(target, generator):
    """Seeds, sequences and offsets that Python knows; floats of the first."""
    needs_type(target, "float64")
    recorded = CURAND[generator]
    first = next(iter(recorded))

    @T.prim_func
    def kernel(
        A: T.Tensor((len(recorded), 3), "uint32"),
        F: T.Tensor((4,), "float32"),
        D: T.Tensor((4,), "float64"),
    ):
        with T.Kernel(1, threads=1):
            for case, (seed, sequence, offset) in enumerate(recorded):
                T.rng_init(seed, sequence, offset, generator=generator)
                for i in T.serial(3):
                    A[case, i] = T.rng_rand()
            T.rng_init(*first, generator=generator)
            for i in T.serial(3):
                F[i] = T.rng_rand_float()
            T.rng_init(*first, generator=generator)
            for i in T.serial(3):
                D[i] = T.rng_rand_float(bit=64)
            T.rng_init(*first, generator=generator)
            F[3] = T.rng_rand_float(dist="normal")
            T.rng_init(*first, generator=generator)
            D[3] = T.rng_rand_float(bit=64, dist="normal")

    arrays = [zeros("uint32", (len(recorded), 3)), zeros("float32", 4), zeros("float64", 4)]
    a, f, d = check(kernel, target, *arrays, compare=partial(close, steps=64))
    _, floats, doubles, single, double = recorded[first]
    assert a.tolist() == [numbers for numbers, *_ in recorded.values()]
    assert f[:3].tolist() == floats
    assert d[:3].tolist() == doubles
    np.testing.assert_allclose([f[3], d[3]], [single, double], rtol=1e-5)


@pytest.mark.parametrize("generator", ["curandStateXORWOW_t", "curandStateMRG32k3a_t"])
def test_positions_of_recurrences(target, generator):
    """Offsets and sequences of the kernel: each draw is where it would be in a row, skipped ones too."""
    needs_type(target, "float64")

    @T.prim_func
    def row(A: T.Tensor((3, 64), "uint32")):
        with T.Kernel(3, threads=1) as b:
            T.rng_init(77, b, 0, generator=generator)
            for i in T.serial(64):
                A[b, i] = T.rng_rand()

    @T.prim_func
    def kernel(
        A: T.Tensor((3, 9), "uint32"), B: T.Tensor((3, 7, 3), "uint32"), S: T.Tensor((3,), "int64"),
        C: T.Tensor((2, 2, 4), "uint32"),
    ):  # fmt: skip
        with T.Kernel(3, threads=1) as b:
            T.rng_init(77, S[b], S[b] + 5, generator=generator)
            for i in T.serial(4):
                A[b, i] = T.rng_rand()
            for i, j in T.Parallel(7, 3):
                B[b, i, j] = T.rng_rand()
                if j > 0:
                    B[b, i, j] = B[b, i, j] ^ T.rng_rand()
            for i in T.serial(5):
                A[b, 4 + i] = T.rng_rand()
        with T.Kernel(2, threads=2) as b:
            tx = T.get_thread_binding()
            T.rng_init(77, generator=generator)
            for i in T.serial(4):
                if b * 2 + tx < 3:
                    C[b, tx, i] = T.rng_rand()

    (rows,) = check(row, target, zeros("uint32", (3, 64)))
    starts = np.arange(3, dtype=np.int64)
    a, b, _, c = check(
        kernel, target, zeros("uint32", (3, 9)), zeros("uint32", (3, 7, 3)), starts, zeros("uint32", (2, 2, 4))
    )
    for sequence in range(3):
        drawn = rows[sequence, 5 + sequence :]
        np.testing.assert_array_equal(a[sequence], np.concatenate([drawn[:4], drawn[46:51]]))
        pairs = drawn[4:46].reshape(7, 3, 2)
        np.testing.assert_array_equal(b[sequence], pairs[..., 0] ^ np.where(np.arange(3) > 0, pairs[..., 1], 0))
        np.testing.assert_array_equal(c[sequence // 2, sequence % 2], rows[sequence, :4])


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
        T.rng_init(1, generator="curandStateMtgp32_t")

    @T.macro
    def bits(A):
        T.rng_init(1)
        A[0] = T.cast(T.rng_rand_float(bit=16), "uint32")

    for body, kind, text in (
        (before, LanguageError, "before T.rng_init"),
        (inside, LanguageError, "T.rng_init stands in T.Parallel"),
        (deeper, UnsupportedError, "in a loop inside T.Parallel"),
        (other, UnsupportedError, "curandStateMtgp32_t"),
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
