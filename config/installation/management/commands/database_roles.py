"""`manage.py database_roles`: gives the roles of PostgreSQL the rights that docs/databases.md lists."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection, transaction

from config.installation import database_roles

NOT_THE_OWNER = "Run this as the owner of the tables who may make roles, or once as a superuser."


class Command(BaseCommand):
    help = (
        "Gives the database roles of the web and of workers their rights. Run it after migrate, as the tables' owner."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--sql", action="store_true", help="Print what would be done, and do nothing.")

    def handle(self, *, sql: bool, **options: Any) -> None:
        if sql:
            for statement in database_roles.statements():
                self.stdout.write(dedent(statement).strip() + ";")
            return
        # Of others PostgreSQL takes most of it with a notice and without effect.
        if database_roles.too_much() not in (database_roles.IS_SUPERUSER, database_roles.OWNS_TABLES):
            raise CommandError(NOT_THE_OWNER)
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                for statement in database_roles.statements():
                    cursor.execute(statement)
                for role in (database_roles.WEB, database_roles.WORKER):
                    if fault := database_roles.too_much(role):
                        raise CommandError(f"{role} {fault}. Run this once as a superuser, or take that away from it.")
        except DatabaseError as error:
            raise CommandError(f"{error}{NOT_THE_OWNER}") from error
        self.stdout.write(f"{database_roles.WEB} and {database_roles.WORKER} have their rights.")
