"""Whether this installation is right: checks that rooms register, and the findings that `manage.py doctor` shows."""
