"""What pages and files of every app are made with: words, PDF, QR codes, CSV, the style sheet."""
