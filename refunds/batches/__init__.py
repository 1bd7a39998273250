"""Refunds by file: checked as a whole, confirmed once, made row by row."""
