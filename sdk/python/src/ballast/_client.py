"""The two clients."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import httpx

from ballast._core import MAX_RETRIES, TIMEOUT_SECONDS, AppInfo, Core
from ballast._transport import AsyncTransport, Transport
from ballast.resources import AsyncResources, Resources


class Ballast(Resources):
    """The API. The environment follows from the keys: `pk_live_` is production, `pk_test_` the sandbox.

    What is left out comes from `BALLAST_PUBLIC_KEY`, `BALLAST_SECRET_KEY` and `BALLAST_URL`. It can be used by several
    threads, and should live as long as the process: connections are kept.
    """

    def __init__(
        self,
        public_key: str | None = None,
        secret_key: str | None = None,
        *,
        base_url: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        max_retries: int = MAX_RETRIES,
        sign_requests: bool = False,
        app_info: AppInfo | None = None,
        http_client: httpx.Client | None = None,
    ) -> None:
        self._core = Core(
            public_key, secret_key, base_url=base_url, timeout=timeout, max_retries=max_retries,
            sign_requests=sign_requests, app_info=app_info,
        )  # fmt: skip
        self._client = http_client or httpx.Client()
        super().__init__(Transport(self._core, self._client))

    @property
    def environment(self) -> str:
        """`sandbox` or `production`."""
        return self._core.environment

    def close(self) -> None:
        self._client.close()

    def __repr__(self) -> str:
        return repr(self._core)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self.close()


class AsyncBallast(AsyncResources):
    """`Ballast` for asyncio: the same methods, to be awaited."""

    def __init__(
        self,
        public_key: str | None = None,
        secret_key: str | None = None,
        *,
        base_url: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        max_retries: int = MAX_RETRIES,
        sign_requests: bool = False,
        app_info: AppInfo | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self._core = Core(
            public_key, secret_key, base_url=base_url, timeout=timeout, max_retries=max_retries,
            sign_requests=sign_requests, app_info=app_info,
        )  # fmt: skip
        self._client = http_client or httpx.AsyncClient()
        super().__init__(AsyncTransport(self._core, self._client))

    @property
    def environment(self) -> str:
        """`sandbox` or `production`."""
        return self._core.environment

    async def aclose(self) -> None:
        await self._client.aclose()

    def __repr__(self) -> str:
        return repr(self._core)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        await self.aclose()
