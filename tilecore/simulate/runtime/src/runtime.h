// The whole runtime, as one translation unit.
#include "kernel_calls.h"
