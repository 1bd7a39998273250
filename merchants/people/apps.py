"""People: how somebody gets an account, proves an address, and keeps it."""

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "merchants.people"
    label = "people"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from merchants.four_eyes import services
        from merchants.ledger import stops
        from merchants.people import doctor, oversight  # noqa: F401 - doctor registers what it looks at
        from merchants.people.mailing import mail_proposal

        services.mail_proposal.register(mail_proposal)
        stops.suspend_merchant.register(oversight.suspend_merchant)
