"""What a monitoring system reads of an installation: a few numbers, computed from PostgreSQL in one process."""
