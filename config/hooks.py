"""Functions of an upper app that a lower one calls, so that imports go down only, and what a checkout alone has.

The lower app declares a `Hook`; the upper app registers its function there in its AppConfig.ready.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Generic, ParamSpec, TypeVar

from django.core.exceptions import ImproperlyConfigured

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Hook(Generic[Arguments, Result]):
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
        """Result of the registered function; RuntimeError when no installed app has registered one."""
        if self._function is None:
            raise RuntimeError(f"no installed app provides {self._name}")
        return self._function(*args, **kwargs)


def of_a_checkout(module: str) -> ModuleType:
    """A module of `tests.devnet`, the networks of a developer's machine; ImproperlyConfigured where it is not there."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in ("tests", "tests.devnet"):
            raise
        raise ImproperlyConfigured(
            "The networks of devnet come with a checkout of the code, not with an image or a release. In a checkout "
            "`make devnet` runs them, and `SANDBOX_CHAIN=devnet make run VAR=var/devnet` takes payments on them."
        ) from error
