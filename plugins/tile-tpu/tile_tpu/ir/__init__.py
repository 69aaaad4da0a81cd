"""The nouns of the TPU's lowering: how tiles lie in the lanes, views of memory, instructions on them."""
