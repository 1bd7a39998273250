"""Settings, wiring, and the few tools that depend on no app."""
