"""The one-command run: a PostgreSQL of our own, and a supervisor for web, worker and beat."""
