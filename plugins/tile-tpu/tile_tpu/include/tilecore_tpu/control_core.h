/* The control core as it is, where the CModel stands for it. */
#ifndef TILECORE_TPU_CONTROL_CORE_H
#define TILECORE_TPU_CONTROL_CORE_H

/* The CModel's libraries are built with -ffast-math, so that all threads of its process take subnormal numbers for 0,
 * the one that is the control core too. The chips' control cores do not. */
#if defined(USING_CMODEL) && defined(__x86_64__)
#include <xmmintrin.h>
#define TC_FLUSHES_SUBNORMALS 0x8040u /* flush-to-zero, denormals-are-zero */
TC_FN void tc_initialize(void) {
  tpu_initialize();
  _mm_setcsr(_mm_getcsr() & ~TC_FLUSHES_SUBNORMALS);
}
#define tpu_initialize tc_initialize
#endif

#endif
