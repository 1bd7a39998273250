"""Finds payments by any text of theirs: exactly by their own indexes, in parts by entries made later."""
