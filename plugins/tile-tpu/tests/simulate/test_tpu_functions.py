"""Every function of the interface on the simulator, compared with numpy: many shapes and types."""

from __future__ import annotations

import pytest
import tpu_cases as cases
import tpu_kernels as kernels
from tile_tpu.simulate import SimulatedTpu


def launched(case: cases.Case, library, chip: str = "bm1690") -> list:
    arrays = [array.copy() for array in case.arrays]
    arguments = [*kernels.six(arrays), *kernels.numbers(case.p, case.f)]
    SimulatedTpu(chip).run(library, f"run_{case.entry}", arguments, case.blocks)
    return arrays


def mismatch(case: cases.Case, arrays: list) -> str:
    mismatches = [
        f"{case.name}: {text}"
        for place, expected in case.expected.items()
        if (text := cases.agree(arrays[place], expected.reshape(arrays[place].shape), case.ulps, case.least))
    ]
    return "\n".join(mismatches)


@pytest.mark.parametrize("make", cases.FAMILIES, ids=lambda make: make.__name__)
def test_against_numpy(make, kernels_library):
    wrong = [text for case in cases.family(make) if (text := mismatch(case, launched(case, kernels_library)))]
    assert not wrong, "\n".join(wrong)


# on other chips: 32 lanes, 16 bytes a cycle; no function that only some have
@pytest.mark.parametrize("chip", ["sg2260e", "bm1684x", "bm1688"])
@pytest.mark.parametrize(
    "make", [cases.binary, cases.casts, cases.moves, cases.products], ids=lambda make: make.__name__
)
def test_other_chips(chip, make, kernels_library):
    small = chip == "bm1688"
    wrong = []
    for case in cases.family(make)[::5]:
        needs_bias = case.entry == "mm_R_trans_add" and chip == "bm1684x"
        too_large = small and max(array.nbytes for array in case.arrays) > 60_000
        if needs_bias or too_large:
            continue
        wrong += [text] if (text := mismatch(case, launched(case, kernels_library, chip))) else []
    assert not wrong, "\n".join(wrong)


def test_a_wrong_result_is_noticed(kernels_library):
    case = cases.family(cases.binary)[5]
    arrays = launched(case, kernels_library)
    assert not mismatch(case, arrays)
    arrays[2].ravel()[3] += 1
    assert "element 3" in mismatch(case, arrays)
