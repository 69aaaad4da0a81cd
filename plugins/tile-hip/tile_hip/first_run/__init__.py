"""The first run on a card: ``python -m tile_hip.first_run`` checks everything that needs one, and writes a report.

The core does the work (``tilecore/testing/first_run/``). ``plan.py`` gives it what is particular to these GPUs: what
the machine has (``facts.py``), how torch reaches the GPU (``machine.py``), checks of streams, graphs and several
devices (``checks.py``), and speed beside hipBLASLt and AOTriton through torch (``benchmarks.py``).
"""
