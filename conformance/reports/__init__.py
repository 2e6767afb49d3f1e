"""Reports of a run, each made from the event log alone."""
