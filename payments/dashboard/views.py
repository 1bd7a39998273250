"""Saves and deletes a member's views of the list."""

from __future__ import annotations

from django.db import transaction

from config.errors import DomainError
from merchants.models import Merchant, User
from payments.dashboard.models import SavedView
from payments.dashboard.search.filters import PaymentFilter

VIEWS_MAX = 20


class TooManyViews(DomainError):
    code = "too_many_views"
    message = "You have 20 views already. Delete one that you no longer need."


class NothingToSave(DomainError):
    code = "nothing_to_save"
    message = "Choose a filter first: a view without any is the whole list."


def save_view(*, merchant: Merchant, environment: str, user: User, name: str, filters: PaymentFilter) -> SavedView:
    """Keep these filters under this name, in place of what had it before."""
    if filters.is_empty:
        raise NothingToSave
    with transaction.atomic():
        own = SavedView.objects.of(merchant, environment).filter(user=user)
        if own.exclude(name=name).count() >= VIEWS_MAX:
            raise TooManyViews
        view, _made = SavedView.objects.update_or_create(
            merchant=merchant, environment=environment, user=user, name=name, defaults={"filters": filters.as_json()}
        )
        return view


def delete_view(view: SavedView) -> None:
    view.delete()
