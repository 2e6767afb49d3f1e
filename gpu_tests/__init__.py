"""The same claims on CUDA, TransformerEngine and several ranks; what a machine lacks is skipped by name."""
