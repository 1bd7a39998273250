"""Scheduling of periodic work: beat, the broker, due rows, and signs of life."""
