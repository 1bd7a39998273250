"""Identity of the database, and detection of a restore from a backup."""

from django.apps import AppConfig


class InstallationConfig(AppConfig):
    name = "config.installation"
    label = "installation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from config.doctor import database, host, outside  # noqa: F401 - register what doctor looks at
        from config.installation import checks  # noqa: F401 - registers the system check
        from config.installation.backups import doctor  # noqa: F401 - as these
        from config.process import telemetry

        telemetry.begin()
