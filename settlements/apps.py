"""Money out to a merchant."""

from django.apps import AppConfig


class SettlementsConfig(AppConfig):
    name = "settlements"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from merchants import dashboard
        from payments.dashboard import decision_rows, overview, timeline
        from settlements.dashboard import outlook_of, waiting_notice
        from settlements.dashboard_telling import settlement_story
        from settlements.dashboard_waiting import settlements_coming, settlements_waiting, waiting_news
        from webhooks import notices

        notices.further_news.register(waiting_news)
        timeline.settlement_story.register(settlement_story)
        dashboard.outlook_of.register(outlook_of)
        overview.waiting_settlements.register(waiting_notice)
        overview.settlements_coming.register(settlements_coming)
        decision_rows.settlements_waiting.register(settlements_waiting)
