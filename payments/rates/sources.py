"""Queries all sources at once, each with a hard time limit, so that none delays or breaks another."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import httpx

from config.process.response_bodies import ACCEPT_ENCODING, Body, ReplyTooLarge, ReplyUnreadable
from payments.rates.observations import Observation
from payments.rates.providers import Parser, Provider

LARGEST_ANSWER = 1_000_000


@dataclass(frozen=True, slots=True)
class Answers:
    """The observations, and for each failed request a sentence about why."""

    observations: tuple[Observation, ...]
    failures: tuple[str, ...]


class RequestFailed(Exception):
    """The provider replied, but not with its data."""


def fetch(providers: Collection[Provider], *, now: datetime) -> Answers:
    """The observations of all providers. Never raises because of a provider."""
    return asyncio.run(_fetch_all(providers, now)) if providers else Answers((), ())


async def _fetch_all(providers: Collection[Provider], now: datetime) -> Answers:
    requests = [(provider, path, parse) for provider in providers for path, parse in provider.requests.items()]
    headers = {"User-Agent": "Ballast", "Accept-Encoding": ACCEPT_ENCODING}
    async with httpx.AsyncClient(timeout=30, headers=headers) as client:
        results = await asyncio.gather(
            *(_fetch_one(client, provider, path, parse, now) for provider, path, parse in requests),
            return_exceptions=True,
        )
    observations: list[Observation] = []
    failures: list[str] = []
    for (provider, path, _), result in zip(requests, results, strict=True):
        if isinstance(result, Exception):
            failures.append(f"{provider.name}{path}: {type(result).__name__} {result}".strip())
        elif isinstance(result, BaseException):
            raise result
        else:
            observations.extend(result)
    return Answers(tuple(observations), tuple(failures))


async def _fetch_one(
    client: httpx.AsyncClient, provider: Provider, path: str, parse: Parser, now: datetime
) -> list[Observation]:
    # The limit of httpx is for each read; this one also ends a slow reply.
    async with asyncio.timeout(provider.answer_seconds), client.stream("GET", provider.address + path) as response:
        if response.status_code != httpx.codes.OK:
            raise RequestFailed(f"status {response.status_code}")
        try:
            body = Body(response.headers.get("Content-Encoding", ""), most_bytes=LARGEST_ANSWER)
            async for part in response.aiter_raw():
                body.add(part)
        except ReplyTooLarge as error:
            raise RequestFailed("the answer does not end") from error
        except ReplyUnreadable as error:
            raise RequestFailed(f"the answer is {error}") from error
        return parse(bytes(body.content), now - _time_in_caches(response))


def _time_in_caches(response: httpx.Response) -> timedelta:
    """The `Age` header: a reply without a time of its own may come from a cache."""
    age = response.headers.get("Age", "")
    return timedelta(seconds=int(age)) if age.isascii() and age.isdigit() and len(age) < 9 else timedelta(0)
