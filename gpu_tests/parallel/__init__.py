"""Context- and tensor-parallel attention over real ranks, forward and backward, written to be read."""
