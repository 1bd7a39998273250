"""Functions of an upper app that a lower one calls, so that imports go down only.

The lower app declares a `Provider`; the upper app registers its function there in its AppConfig.ready.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Provider(Generic[Arguments, Result]):
    """A function that is called here and registered by the app that can compute it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._function: Callable[Arguments, Result] | None = None

    def register(self, function: Callable[Arguments, Result]) -> None:
        """RuntimeError when a function is registered already."""
        if self._function is not None:
            raise RuntimeError(f"{self._name} is provided by {self._function.__module__} already")
        self._function = function

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """What the registered function returns; RuntimeError when no installed app has registered one."""
        if self._function is None:
            raise RuntimeError(f"no installed app provides {self._name}")
        return self._function(*args, **kwargs)
