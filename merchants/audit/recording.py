"""Writes the audit log: one row for each action of a person, in the same database transaction as the work."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction
from django.db.models import Model
from django.http.response import HttpResponseBase

from config.ids import PublicRecord
from merchants.audit.models import MOST_CHARACTERS_OF_A_DEVICE, LoggedAction
from merchants.models import Member
from merchants.roles import Action

Fields = Mapping[str, Any]

_SECRET_NAME: Final = re.compile(r"secret|password|digest|token|cipher", re.IGNORECASE)
_SECRET_VALUE: Final = re.compile(r"\b(sk_(live|test)_|whsec_)")


class SecretLogged(Exception):
    """A programming error: a field that contains a secret was handed to the audit log."""


class ActionReported(Exception):
    """A programming error: a view has reported twice how its action ended."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of a person's action: the address, if the server knows it, and the browser's name of itself."""

    address: str | None = None
    device: str = ""


class OngoingAction:
    """An action that a page does at the moment: it ends by being logged, or by being undone."""

    def __init__(self, action: Action, *, member: Member, environment: str, origin: Origin, record: str = "") -> None:
        self.action = action
        self._member, self._environment, self._origin = member, environment, origin
        self._record = record
        self._before: Fields = {}
        self._after: Fields = {}
        self._is_done: bool | None = None

    def done(
        self, record: PublicRecord | None = None, *, before: Fields | None = None, after: Fields | None = None
    ) -> None:
        """Report the record that was changed, and its fields before and after. Of these only what differs is kept.

        Without it a view that redirects is logged with the record that its address names.
        """
        self._end(is_done=True)
        if record is not None:
            self._record = record.public_id
        self._before, self._after = before or {}, after or {}

    def refused(self) -> None:
        """Report that nothing was done although the view redirects. The database transaction is rolled back."""
        self._end(is_done=False)

    def perform(self, view: Callable[[], HttpResponseBase]) -> HttpResponseBase:
        """Run a view in one database transaction and return its response; either its action is logged, or all of it is
        rolled back.

        An error is a refusal. A redirect means that the action is done unless the view has called `refused`; a page
        that is shown, such as a form with its errors, means that it is not, unless the view has called `done`.
        """
        with transaction.atomic(durable=True):
            response = view()
            is_redirect = 300 <= response.status_code < 400
            is_done = is_redirect if self._is_done is None else self._is_done
            if is_done and response.status_code < 400:
                self._log()
            else:
                transaction.set_rollback(True)
        return response

    @contextmanager
    def alone(self) -> Iterator[OngoingAction]:
        """One of several actions of the same kind, in a database transaction of its own: logged once it has said that
        it is done, and undone else, by itself."""
        one = OngoingAction(self.action, member=self._member, environment=self._environment, origin=self._origin)
        with transaction.atomic(durable=True):
            yield one
            if one._is_done:
                one._log()
            else:
                transaction.set_rollback(True)

    def _end(self, *, is_done: bool) -> None:
        if self._is_done is not None:
            raise ActionReported(self.action)
        self._is_done = is_done

    def _log(self) -> None:
        log_action(
            self.action,
            member=self._member,
            environment=self._environment,
            origin=self._origin,
            record=self._record,
            before=self._before,
            after=self._after,
        )


def log_action(
    action: Action,
    *,
    member: Member,
    environment: str,
    origin: Origin,
    record: str = "",
    before: Fields | None = None,
    after: Fields | None = None,
) -> LoggedAction:
    """Add a row to the audit log. An empty environment stands for the account as a whole."""
    before, after = _differing(before or {}, after or {})
    return LoggedAction.objects.create(
        merchant_id=member.merchant_id,
        environment=environment,
        action=action.value,
        person=member.user,
        email=member.user.email,
        role=member.role,
        record=record,
        before=before,
        after=after,
        address=origin.address,
        device="".join(filter(str.isprintable, origin.device))[:MOST_CHARACTERS_OF_A_DEVICE],
    )


def fields_of(row: Model, *names: str) -> Fields:
    """The values of these fields of a row, for `before` and `after`."""
    return {name: getattr(row, name) for name in names}


def _differing(before: Fields, after: Fields) -> tuple[Fields, Fields]:
    """Both without the fields that are the same in both; SecretLogged when one contains a secret."""
    for fields in (before, after):
        for name, value in fields.items():
            if _SECRET_NAME.search(name) or _SECRET_VALUE.search(str(value)):
                raise SecretLogged(name)
    same = {name for name, value in before.items() if name in after and after[name] == value}
    return (
        {name: value for name, value in before.items() if name not in same},
        {name: value for name, value in after.items() if name not in same},
    )
