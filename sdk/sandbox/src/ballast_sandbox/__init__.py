"""The sandbox of Ballast for tests: a fixture `sandbox` for pytest, and the command `ballast-sandbox`."""

from __future__ import annotations

from ballast_sandbox.sandbox import Clock, Delivery, Sandbox, Webhooks

__all__ = ["Clock", "Delivery", "Sandbox", "Webhooks"]
__version__ = "0.1.0"
