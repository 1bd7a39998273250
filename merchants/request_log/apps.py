"""The log of API requests, an app inside `merchants`: the requests of each key, and their replies."""

from django.apps import AppConfig


class RequestLogConfig(AppConfig):
    name = "merchants.request_log"
    label = "request_log"
    default_auto_field = "django.db.models.BigAutoField"
