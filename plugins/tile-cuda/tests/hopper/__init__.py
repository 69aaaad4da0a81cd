"""How kernels are lowered for sm_90a, on the simulated device."""
