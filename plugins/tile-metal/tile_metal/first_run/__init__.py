"""The first run on a Mac: ``python -m tile_metal.first_run`` checks everything that needs one, and writes a report.

The core does the work (``tilecore/testing/first_run/``). ``plan.py`` gives it what is particular to Apple GPUs: what
the Mac has (``facts.py``, ``devices.py``), torch's device "mps" (``machine.py``), checks (``checks.py``) among which is
the layout of simdgroup matrices (``lane_layout.py``), and speed beside torch and MLX (``benchmarks.py``, ``mlx.py``).
"""
