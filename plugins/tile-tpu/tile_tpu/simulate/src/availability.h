// Which chips have which function: what the vendor's CModel of each defines (PPL 1.7.111, tpu_mlir 1.30.2).
//
// A function that is not listed exists on all four. Of the others the CModel has only a stub that ends the process, or
// nothing at all.
#pragma once

namespace sim {

constexpr unsigned char kBm1690 = 1, kSg2260e = 2, kBm1684x = 4, kBm1688 = 8, kNone = 0;

// Bit Chip::number is set for a chip that has it.
unsigned char chips_with(const char* function);

}  // namespace sim
