"""Tools for PostgreSQL: locks, sessions, its clock, and statements for many rows."""
