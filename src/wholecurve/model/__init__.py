"""Frozen data that every layer shares: names, units, samples, plans, records, errors. No I/O."""

__all__ = []  # modules are imported by name: every layer reads only what it needs
