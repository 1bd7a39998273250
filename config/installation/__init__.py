"""Identity of the database: the one that was here before, or a restored copy of it."""
