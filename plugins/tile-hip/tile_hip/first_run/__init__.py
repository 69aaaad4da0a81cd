"""The first run on a card: ``python -m tile_hip.first_run`` checks everything that needs one, and writes a report.

The steps are in modules of their own: what the machine has (``facts.py``), checks of launching (``checks.py``), the
conformance kit and random kernels (``commands.py``), and speed beside torch (``benchmarks.py``). Steps run in processes
of their own (``processes.py``): a fault of the GPU's memory ends its process, and the report says where.
"""
