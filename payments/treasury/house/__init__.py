"""The house's own money: what it has, where it may be paid, and how it leaves."""
