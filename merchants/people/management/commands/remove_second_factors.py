"""Removes the second factors of somebody who has lost them, recovery codes included."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from config.errors import DomainError
from merchants.four_eyes.people import operator_of_command
from merchants.models import User
from merchants.people.operator_rights import (
    are_kept_apart,
    propose_removing_factors,
    remove_factors,
    remove_factors_alone,
)


class Command(BaseCommand):
    help = (
        "Proposes to remove the second factors of a person who has lost them. Another operator agrees in the admin. "
        "Make sure first who asks."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--by", metavar="EMAIL", default="", help="The operator who proposes it, where two must.")
        parser.add_argument(
            "--alone", action="store_true", help="Nobody else is left who could agree: the other operator lost them."
        )

    def handle(self, *args: Any, email: str, by: str, alone: bool = False, **options: Any) -> None:
        user = User.objects.filter(email__iexact=email).first()
        if user is None:
            raise CommandError("There is nobody with this address.")
        if not are_kept_apart():
            self.stdout.write(f"{remove_factors(user)} removed")
            return
        try:
            person = operator_of_command(by, permission="merchants.change_user", environment=Environment.PRODUCTION)
            if alone:
                self.stdout.write(f"{remove_factors_alone(user, by=person)} removed")
                return
            proposal = propose_removing_factors(user, by=person)
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"{proposal}: {proposal.get_status_display()}.")
