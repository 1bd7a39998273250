"""Money in: payments, what arrives for them, and the page a payer sees."""

from importlib import import_module

from django.apps import AppConfig

WITH_TABLES = (
    "dashboard",
    "dashboard.exports",
    "dashboard.search",
    "deposits",
    "deposits.turnover",
    "links",
    "treasury",
)

HEIGHTS = "SELECT environment, network, head_height, finalized_height FROM payments_scancursor ORDER BY 1, 2"
LAST_NUMBER = "SELECT last_value FROM payments_deposit_sequence"
"""What the manifest of a backup says of it."""


class PaymentsConfig(AppConfig):
    name = "payments"
    default_auto_field = "django.db.models.BigAutoField"

    def import_models(self) -> None:
        """Import the tables of the folders too: Django itself looks for `payments.models` alone."""
        super().import_models()
        for folder in WITH_TABLES:
            import_module(f"payments.{folder}.models")

    def ready(self) -> None:
        from config.admin import values
        from config.admin.story import add_to_story
        from config.installation.backups.manifest import add_figure
        from merchants.ledger import owners
        from merchants.serializers import decimals_of, suspense_of
        from payments import doctor  # noqa: F401 - registers what doctor looks at
        from payments.chains import registry
        from payments.dashboard.search.indexing import write_again
        from payments.records import qr_codes_of
        from payments.screening.matching import propose_release
        from payments.services import words_changed
        from payments.stories import alarms, networks, postings, suspense, sweeps
        from payments.stories import merchants as of_merchants
        from payments.stories import payments as stories
        from payments.stories.names import names_of_records
        from payments.suspense import review, sender_returns
        from payments.suspense.balances import in_suspense
        from payments.transfers.owners import Owners, register_owners
        from webhooks.events import rebuilding

        add_figure("heights of networks", HEIGHTS)
        add_figure("last address number", LAST_NUMBER, grows=True)
        register_owners("returns", Owners(sender_returns.to_follow, sender_returns.follow_payout))
        values.profile_of.register(registry.known_profile)
        add_to_story("operations.Alarm", alarms.of_alarm)
        add_to_story("payments.Payment", stories.of_payment)
        add_to_story("transfers.Payout", stories.of_payout)
        add_to_story("merchants.Merchant", of_merchants.of_merchant)
        add_to_story("transfers.Wallet", stories.of_wallet)
        add_to_story("payments.Sweep", sweeps.of_sweep)
        add_to_story("operations.NetworkSnapshot", networks.of_network)
        add_to_story("ledger.Posting", postings.of_posting)
        add_to_story("payments.Discrepancy", suspense.of_discrepancy)
        add_to_story("payments.Deposit", suspense.of_deposit)
        owners.names_of_records.register(names_of_records)
        words_changed.register(write_again)
        propose_release.register(review.propose_release)
        decimals_of.register(registry.decimals)
        suspense_of.register(in_suspense)
        rebuilding.qr_codes_of.register(qr_codes_of)
