"""State machines: whole lives of packed data, in any order of steps."""
