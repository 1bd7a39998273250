"""People from before there was a sign-up were added by an operator or a command: their addresses count as confirmed."""

from __future__ import annotations

from typing import Any

from django.db import migrations


def confirm(apps: Any, schema_editor: Any) -> None:
    users = apps.get_model("merchants", "User")
    addresses = apps.get_model("account", "EmailAddress")
    known = set(addresses.objects.values_list("user_id", flat=True))
    addresses.objects.bulk_create(
        addresses(user_id=user_id, email=email.lower(), primary=True, verified=True)
        for user_id, email in users.objects.values_list("pk", "email")
        if user_id not in known
    )


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0001_initial"),
        ("account", "0009_emailaddress_unique_primary_email"),
    ]

    operations = [migrations.RunPython(confirm, migrations.RunPython.noop)]
