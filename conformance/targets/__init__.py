"""What can be measured: adapters from real software to ``reference_impl.interface``, and how they are found."""
