"""Money that no payment may keep by itself: what is decided about it, by whom, and where it goes."""
