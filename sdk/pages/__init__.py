"""Runs the programs of the documentation."""
