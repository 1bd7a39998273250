"""The one-command run: its own PostgreSQL, and a supervisor for web, worker and beat."""
