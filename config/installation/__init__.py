"""Which database this is: whether it is the one that was here before, or a restored copy of it."""
