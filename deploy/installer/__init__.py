"""Installs and upgrades Ballast on a machine with systemd. Only the standard library: nothing else is there yet."""
