"""Measures real software against the reference and the laws, and reports."""
