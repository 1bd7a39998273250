"""Sessions in the database under the digest of their key: whoever reads the database can use none of them."""

from __future__ import annotations

import hashlib
from typing import Any

from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.contrib.sessions.models import Session
from django.utils import timezone


def stored_key(session_key: str | None) -> str:
    """The 40 characters under which a session is stored; empty without a session."""
    return hashlib.blake2b(session_key.encode(), digest_size=20).hexdigest() if session_key else ""


def content_of(stored: str) -> dict[str, Any]:
    """Content of the session stored under this digest; empty when it has ended."""
    found = Session.objects.filter(pk=stored, expire_date__gt=timezone.now()).first()
    return found.get_decoded() if found else {}


class SessionStore(DatabaseStore):
    """Django's own, but for what stands in the column `session_key`. The browser has the key, and nobody else.

    The asynchronous methods are not written anew, and find no session.
    """

    def _get_session_from_db(self) -> Session | None:
        found = Session.objects.filter(pk=stored_key(self.session_key), expire_date__gt=timezone.now()).first()
        if found is None:
            self._session_key = None
        return found

    def exists(self, session_key: str) -> bool:
        return super().exists(stored_key(session_key))

    def create_model_instance(self, data: Any) -> Any:
        session = super().create_model_instance(data)
        session.session_key = stored_key(session.session_key)
        return session

    def delete(self, session_key: str | None = None) -> None:
        super().delete(stored_key(session_key or self.session_key))
