"""Caches kernels in memory and on disk, and computes their keys.

    source key ─ links ─► kernel key ─ entries ─► Artifact

A fresh process that meets a known kernel goes this way without TVM: ``source_key(function, args, kwargs)`` reads the
function's source and everything it depends on, and the two look-ups take a fraction of a millisecond. Whatever goes
wrong with the disk, kernels compile; whatever is not understood in the source, the IR decides.
"""
