"""Symbolic proofs of the contracts' bytecode, by the engine of halmos: `make proofs`.

They run in an environment of their own, as halmos and import-linter want different versions of the same library.
"""
