"""What must hold of any packing implementation: laws, strategies that draw their inputs, and known bugs."""
