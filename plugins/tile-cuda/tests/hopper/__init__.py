"""Tests of the lowering for sm_90a, on the simulated device."""
