"""What a process is started with: roles, variables, logs, and how one that cannot go on ends."""
