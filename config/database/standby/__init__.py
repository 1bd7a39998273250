"""A standby that is reached without a pooler."""
