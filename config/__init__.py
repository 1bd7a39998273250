"""Wiring, and the few tools that know no app."""
