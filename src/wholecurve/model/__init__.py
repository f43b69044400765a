"""Frozen data that every layer shares: names, units, samples, plans, records, errors. No I/O."""
