"""The merchant's own pages, and the forms and lists that pages of other apps share."""
