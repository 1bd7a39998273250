"""Every change on the way from a sign-up to a merchant."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from allauth.account.models import EmailAddress
from django.conf import settings
from django.db import IntegrityError, transaction

from config.errors import DomainError
from merchants.models import Merchant, User
from merchants.people.models import SignUp
from merchants.services import checked_merchant_name, open_merchant

UNCONFIRMED_KEPT_FOR: Final = timedelta(days=7)


class AddressTaken(DomainError):
    """For the code alone: a page must not show it."""

    code = "address_taken"
    message = "This e-mail address is already in use."


def sign_up(*, email: str, password_hash: str, name: str, merchant_name: str) -> User:
    """A person whose address is not confirmed yet, and the request for a merchant; AddressTaken when there is one
    already."""
    email = email.strip().lower()
    merchant_name = checked_merchant_name(merchant_name)
    try:
        with transaction.atomic():
            user = User.objects.create(email=email, name=name.strip(), password=password_hash)
            EmailAddress.objects.create(user=user, email=email, primary=True, verified=False)
            SignUp.objects.create(user=user, merchant_name=merchant_name, needs_approval=settings.SIGN_UP == "approval")
    except IntegrityError:
        raise AddressTaken from None
    return user


def open_requested_merchant(*, user: User) -> Merchant | None:
    """Opens the merchant that a person signed up for, as its owner, once the address is confirmed and, where it is
    needed, an operator has agreed. None when there is nothing to open, or not yet."""
    with transaction.atomic():
        request = SignUp.objects.select_for_update().filter(user=user, needs_approval=False).first()
        if request is None or not EmailAddress.objects.filter(user=user, verified=True).exists():
            return None
        merchant = open_merchant(name=request.merchant_name, email=user.email, owner=user)
        request.delete()
    return merchant


def approve_sign_up(*, sign_up: SignUp) -> Merchant | None:
    """An operator agrees: the merchant is opened now, or as soon as the address is confirmed, and then it is None."""
    with transaction.atomic():
        SignUp.objects.filter(pk=sign_up.pk).update(needs_approval=False)
        return open_requested_merchant(user=sign_up.user)


def refuse_sign_up(*, sign_up: SignUp) -> None:
    """An operator does not agree: the person is forgotten, and may sign up again."""
    with transaction.atomic():
        SignUp.objects.select_for_update().get(pk=sign_up.pk)
        sign_up.user.delete()


def confirm_added_person(*, user: User) -> None:
    """The address of a person whom an operator or a command has added counts as confirmed.

    Whoever signs up has a row for the address from the beginning, so a person without one was added.
    """
    if not EmailAddress.objects.filter(user=user).exists():
        EmailAddress.objects.get_or_create(
            user=user, email=user.email.lower(), defaults={"primary": True, "verified": True}
        )


def follow_operator(*, user: User) -> None:
    """The person's address as an operator has written it counts as confirmed, and no other does."""
    with transaction.atomic():
        EmailAddress.objects.filter(user=user).exclude(email=user.email.lower()).delete()
        EmailAddress.objects.update_or_create(
            user=user, email=user.email.lower(), defaults={"primary": True, "verified": True}
        )


def free_address(*, email: str, of: User) -> None:
    """Forgets other people who signed up with this address and never confirmed it, so that its owner can have it."""
    for other in User.objects.filter(email__iexact=email).exclude(pk=of.pk):
        confirm_added_person(user=other)
        with transaction.atomic():
            left = SignUp.objects.select_for_update().filter(user=other).first()
            if left is not None and not is_confirmed(other):
                other.delete()


def is_confirmed(user: User) -> bool:
    return bool(EmailAddress.objects.filter(user=user, verified=True).exists())


def purge_sign_ups(*, now: datetime) -> int:
    """Forgets people who have not confirmed their address in a week; returns how many."""
    forgotten = 0
    for sign_up_id in SignUp.objects.filter(requested_at__lt=now - UNCONFIRMED_KEPT_FOR).values_list("pk", flat=True):
        with transaction.atomic():
            left = SignUp.objects.select_for_update().select_related("user").filter(pk=sign_up_id).first()
            if left is not None and not is_confirmed(left.user):
                left.user.delete()
                forgotten += 1
    return forgotten
