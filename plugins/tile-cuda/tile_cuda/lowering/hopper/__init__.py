"""What sm_90a has of its own: bulk copies by tensor maps, products of warpgroups, warps with roles."""
