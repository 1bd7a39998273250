"""Money out to a merchant."""

from django.apps import AppConfig


class SettlementsConfig(AppConfig):
    name = "settlements"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from config import ids
        from config.admin.story import add_to_story
        from merchants.pages import dashboard
        from payments.dashboard import timeline
        from payments.dashboard.decisions import rows
        from payments.dashboard.overview import figures
        from payments.monitoring.today import waiting
        from payments.transfers.owners import Owners, register_owners
        from settlements.models import Settlement
        from settlements.pages import stories
        from settlements.pages.of_a_payment import settlement_story
        from settlements.pages.views import outlook_of, waiting_notice
        from settlements.pages.waiting import (
            settled_so_far,
            settlements_coming,
            settlements_to_see,
            settlements_waiting,
            waiting_news,
        )
        from settlements.payouts.outcome import follow_payout
        from settlements.run_creation import possible_merchants, settle_found
        from webhooks.events import notices

        add_to_story("payments.Payment", stories.of_payment)
        add_to_story("settlements.Settlement", stories.of_settlement)
        found = (ids.MERCHANT.prefix,), possible_merchants, settle_found
        register_owners("settlements", Owners(Settlement.objects.to_follow, follow_payout, *found))
        notices.further_news.register(waiting_news)
        timeline.settlement_story.register(settlement_story)
        dashboard.outlook_of.register(outlook_of)
        figures.waiting_settlements.register(waiting_notice)
        figures.settlements_coming.register(settlements_coming)
        figures.settled_so_far.register(settled_so_far)
        rows.settlements_waiting.register(settlements_waiting)
        waiting.settlements_to_see.register(settlements_to_see)
