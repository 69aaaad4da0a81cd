"""Bundles: files with many compiled kernels, for several shapes and targets. This package reads them, and imports
neither the compiler nor TVM nor torch; ``tilecore.bundle_builder`` writes them."""
