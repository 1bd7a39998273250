"""The log of API requests, an app inside `merchants`: what each key asked for, and what it got."""

from django.apps import AppConfig


class RequestLogConfig(AppConfig):
    name = "merchants.request_log"
    label = "request_log"
    default_auto_field = "django.db.models.BigAutoField"
