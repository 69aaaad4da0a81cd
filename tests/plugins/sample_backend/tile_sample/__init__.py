"""A backend package in miniature: target, lowering, codegen, toolchain, adapter, and the plugin that offers them."""
