"""Tools for pages and files of every app: words, PDF, QR codes, CSV, the style sheet."""
