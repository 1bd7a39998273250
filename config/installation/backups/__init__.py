"""Backups of the database: made, restored, and tried in a drill."""
