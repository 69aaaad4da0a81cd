"""The simulator against the vendor's CModel of BM1690: the same C, the same inputs, equal bits where both are exact."""

from __future__ import annotations

import pytest
import tpu_cases as cases
import tpu_kernels as kernels
import vendor_cmodel as cmodel
from test_tpu_functions import launched
from tile_tpu.chips import BM1690


@pytest.fixture(scope="session")
def vendor_library(wheel, tmp_path_factory):
    return cmodel.build(wheel, kernels.source(), tmp_path_factory.mktemp("cmodel"), BM1690)


def job(case: cases.Case) -> cmodel.Job:
    tail = b"".join(bytes(value) for value in kernels.numbers(case.p, case.f))
    return f"run_{case.entry}", [array.copy() for array in case.arrays], tail, case.blocks


@pytest.mark.parametrize("make", cases.FAMILIES, ids=lambda make: make.__name__)
def test_same_results(make, kernels_library, wheel, vendor_library):
    family = cases.family(make)
    theirs = cmodel.run(wheel, vendor_library, BM1690, [job(case) for case in family])
    assert len(theirs) == len(family), f"{family[len(theirs) - 1].name}: {theirs[-1]}"
    wrong = []
    for case, vendor in zip(family, theirs, strict=True):
        assert not isinstance(vendor, str), f"{case.name}: {vendor}"
        own = launched(case, kernels_library)
        for place in case.expected:
            said = cases.agree(own[place], vendor[place], *case.cmodel)
            wrong += [f"{case.name}: {said}"] if said else []
    assert not wrong, "\n".join(wrong)
