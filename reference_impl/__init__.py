"""Sequence packing as an executable specification. Needs NumPy only."""
