"""Django's admin with a site of our own."""

from django.contrib.admin.apps import AdminConfig


class OperatorsAdminConfig(AdminConfig):
    default_site = "config.admin.site.OperatorsSite"
