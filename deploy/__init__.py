"""What Ballast is installed and run with outside of a development machine."""
