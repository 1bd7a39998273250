"""Someone to try an embedded run with: a merchant with sandbox keys, its owner, and an operator."""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from config.embedded.secrets import write_private
from config.environments import Environment
from config.pages.samples import SANDBOX_WALLET
from merchants.models import ApiKey, Member, Merchant, User
from merchants.services import issue_api_key, open_merchant

OWNER_EMAIL = "demo@ballast.example"
OPERATOR_EMAIL = "operator@ballast.example"


class Command(BaseCommand):
    help = "Create the demo merchant and write how to reach it into demo.env. What works already stays as it is."

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.MODE == "production":
            raise CommandError("A demo has no place in production.")
        path = Path(settings.VAR_DIR) / "demo.env"
        values = read(path) if path.exists() else {}
        if not works(values):
            values = create()
        addresses = {
            "BALLAST_URL": settings.PUBLIC_URL,
            "BALLAST_BASE_URL": f"{settings.PUBLIC_URL}/v1",
            "BALLAST_SANDBOX_BASE_URL": f"{settings.PUBLIC_URL}/sandbox/v1",
            "BALLAST_WALLET": SANDBOX_WALLET,
            "BALLAST_VAR": str(settings.VAR_DIR),
        }
        values = {**addresses, **{name: value for name, value in values.items() if name not in addresses}}
        lines = [f"{name}={shlex.quote(value)}" for name, value in values.items()]
        lines.append(f"export {' '.join(values)}")
        write_private(path, "\n".join(lines) + "\n")


def read(path: Path) -> dict[str, str]:
    """Values written by an earlier run, without the URLs, which this run decides."""
    pairs = [word.partition("=") for word in shlex.split(path.read_text(), comments=True) if "=" in word]
    return {name: value for name, _, value in pairs if not name.endswith("_URL")}


def works(values: dict[str, str]) -> bool:
    """True if the key and both people of the file are in this database, which may be a new one."""
    names = ("BALLAST_PUBLIC_KEY", "BALLAST_SECRET_KEY", "BALLAST_EMAIL", "BALLAST_PASSWORD", "BALLAST_ADMIN_EMAIL")
    if not all(values.get(name) for name in (*names, "BALLAST_ADMIN_PASSWORD")):
        return False
    people = User.objects.filter(email__in=[values["BALLAST_EMAIL"], values["BALLAST_ADMIN_EMAIL"]])
    key = ApiKey.objects.filter(public_key=values["BALLAST_PUBLIC_KEY"], revoked_at__isnull=True)
    return key.exists() and people.count() == 2


@transaction.atomic
def create() -> dict[str, str]:
    """Make the demo's people with new passwords, and one more key pair, because nobody knows the old ones."""
    owner, owner_password = person(OWNER_EMAIL, name="Demo Owner")
    operator, operator_password = person(OPERATOR_EMAIL, name="Demo Operator", is_staff=True, is_superuser=True)
    member = Member.objects.filter(user=owner).select_related("merchant").first()
    merchant: Merchant = (
        member.merchant if member else open_merchant(name="Demo Coffee", email=OWNER_EMAIL, owner=owner)
    )
    issued = issue_api_key(merchant=merchant, environment=Environment.SANDBOX, name="Demo", created_by=owner)
    return {
        "BALLAST_PUBLIC_KEY": issued.key.public_key,
        "BALLAST_SECRET_KEY": issued.secret,
        "BALLAST_EMAIL": owner.email,
        "BALLAST_PASSWORD": owner_password,
        "BALLAST_ADMIN_EMAIL": operator.email,
        "BALLAST_ADMIN_PASSWORD": operator_password,
    }


def person(email: str, **fields: Any) -> tuple[User, str]:
    password = secrets.token_urlsafe(12)
    user = User.objects.filter(email=email).first() or User.objects.create_user(email, **fields)
    user.set_password(password)
    user.save(update_fields=["password"])
    return user, password
