"""The start page: how business goes, what needs attention, and the first steps of a new merchant."""
