"""The audit log, an app inside `merchants`: what people did, append-only."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "merchants.audit"
    label = "audit"
    default_auto_field = "django.db.models.BigAutoField"
