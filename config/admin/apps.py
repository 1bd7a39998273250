"""Django's admin with a site of our own, and the groups of its roles."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.contrib.admin.apps import AdminConfig
from django.db.models.signals import post_migrate


class OperatorsAdminConfig(AdminConfig):
    default_site = "config.admin.site.OperatorsSite"

    def ready(self) -> None:
        super().ready()
        # Django makes the permissions of one app after the other: after the last one all are there.
        last = [each for each in apps.get_app_configs() if each.models_module is not None][-1]
        post_migrate.connect(_keep_roles, sender=last, dispatch_uid="roles of operators")


def _keep_roles(using: str, apps: Any, **signal: Any) -> None:
    """Update the groups of the roles, as the owner of the tables: the web may not write to groups."""
    from config.admin.roles import keep_groups_in_step

    if "group" in apps.all_models["auth"]:
        keep_groups_in_step(using)
