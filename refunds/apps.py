"""Money back to a payer."""

from django.apps import AppConfig


class RefundsConfig(AppConfig):
    name = "refunds"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from config.admin.story import add_to_story
        from payments import records
        from payments.checkout import mailing
        from payments.dashboard import payment_page, timeline
        from payments.dashboard.decisions import rows
        from payments.dashboard.overview import attention
        from payments.monitoring.today import waiting
        from payments.receipts import documents
        from payments.transfers.owners import Owners, register_owners
        from refunds.found_refunds import FOUND_OWNERS, possible_refunds, refund_found
        from refunds.models import Refund
        from refunds.pages import stories
        from refunds.pages.of_a_payment import refund_sent, refund_story, refunds_of
        from refunds.pages.receipt import refunds_paid
        from refunds.pages.refund_from_suspense import giving_back, refunds_waiting
        from refunds.pages.refunds import held_refunds, refunds_to_see
        from refunds.records import newest_refunds
        from refunds.services import follow_payout

        records.newest_refunds.register(newest_refunds)
        register_owners(
            "refunds", Owners(Refund.objects.to_follow, follow_payout, FOUND_OWNERS, possible_refunds, refund_found)
        )
        add_to_story("payments.Payment", stories.of_payment)
        add_to_story("refunds.Refund", stories.of_refund)
        mailing.refund_sent.register(refund_sent)
        payment_page.refunds_of.register(refunds_of)
        timeline.refund_story.register(refund_story)
        documents.refunds_paid.register(refunds_paid)
        attention.refunds_held.register(held_refunds)
        waiting.refunds_to_see.register(refunds_to_see)
        rows.giving_back.register(giving_back)
        rows.refunds_waiting.register(refunds_waiting)
