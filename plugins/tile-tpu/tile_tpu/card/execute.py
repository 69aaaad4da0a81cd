"""Executes one call on a card with tensors of the host: copies the blocks to the card, launches, and copies them
back."""

from __future__ import annotations

from collections.abc import Sequence

from tile_tpu.runtimes.records import Block, Launch, Runtime


def execute(runtime: Runtime, library: str, blocks: Sequence[Block], launches: Sequence[Launch]) -> None:
    """Executes the launches in order and waits for them. Raises RuntimeFailure."""
    module = runtime.load(library)
    addresses: list[int] = []
    try:
        for block in blocks:
            addresses.append(runtime.allocate(max(block.nbytes, 64)))
            if block.copy_in and block.nbytes:
                runtime.to_device(addresses[-1], block.host, block.nbytes)
        for launch in launches:
            runtime.launch(module, launch.entry, launch.with_addresses(addresses), launch.items)
        runtime.wait()
        for address, block in zip(addresses, blocks, strict=True):
            if block.copy_out and block.nbytes:
                runtime.to_host(block.host, address, block.nbytes)
    finally:
        for address in addresses:
            runtime.free(address)
