"""The lowering to the features of sm_90a: TMA copies, wgmma, warp specialization, persistent blocks, clusters."""
