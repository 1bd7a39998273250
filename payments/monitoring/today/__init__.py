"""The first page of the admin: is everything well, and if not, what first."""
