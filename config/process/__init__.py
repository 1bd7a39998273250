"""Start and end of a process: roles, variables, logs, and the last line of one that cannot go on."""
