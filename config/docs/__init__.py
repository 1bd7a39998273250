"""The documentation at `/docs`: the files of docs/ as pages, with the search over them and over the API reference."""
