"""The kill switch becomes a stop. Its column stays for processes of the release before; a later one drops it."""

from django.db import migrations
from django.db.migrations.state import StateApps
from django.utils import timezone

KEEP_THE_COLUMN = """
    ALTER TABLE transfers_payoutpolicy ALTER COLUMN payouts_enabled SET DEFAULT true;
    CREATE TRIGGER stop_of_policy AFTER UPDATE OF payouts_enabled ON transfers_payoutpolicy
        FOR EACH ROW WHEN (OLD.payouts_enabled AND NOT NEW.payouts_enabled) EXECUTE FUNCTION ledger_stop_of_policy();
"""


def carry_over(apps: StateApps, schema_editor: object) -> None:
    stops, proposals = apps.get_model("ledger", "Stop").objects, apps.get_model("four_eyes", "Proposal").objects
    for policy in apps.get_model("transfers", "PayoutPolicy").objects.filter(payouts_enabled=False):
        reason = "The kill switch was turned off in the limits of payouts."
        stop, _ = stops.get_or_create(
            kind="switch", environment=policy.environment, network="", lifted_at=None, defaults={"reason": reason}
        )
        waiting = proposals.filter(kind="policy", subject=str(policy.pk), status="waiting").first()
        if waiting is not None and waiting.after.pop("payouts_enabled", None):
            waiting.before.pop("payouts_enabled", None)
            told = f"all payouts ({policy.environment}) goes on. It was stopped: {reason}"
            proposals.create(
                kind="switch",
                environment=policy.environment,
                subject=str(stop.pk),
                before={"reason": reason},
                after={"lifted": True},
                told=told,
                proposed_by_id=waiting.proposed_by_id,
                proposed_at=waiting.proposed_at,
            )
            if not waiting.after:  # nothing else was asked for
                waiting.status, waiting.decided_by_id = "withdrawn", waiting.proposed_by_id
                waiting.decided_at = timezone.now()
            waiting.save()


class Migration(migrations.Migration):
    dependencies = [
        ("four_eyes", "0010_stops"),
        ("ledger", "0015_stops"),
        ("transfers", "0017_proposals"),
    ]

    operations = [
        migrations.RunSQL(
            KEEP_THE_COLUMN,
            "DROP TRIGGER stop_of_policy ON transfers_payoutpolicy;"
            "ALTER TABLE transfers_payoutpolicy ALTER COLUMN payouts_enabled DROP DEFAULT;",
        ),
        migrations.RunPython(carry_over, migrations.RunPython.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.RemoveField(model_name="payoutpolicy", name="payouts_enabled")]
        ),
    ]
