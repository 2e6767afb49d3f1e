"""How inputs are drawn: public, for use in tests of other packers."""
