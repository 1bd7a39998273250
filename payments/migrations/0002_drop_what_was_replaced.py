"""Drops the tables, columns and triggers that only versions before the first release used.

An installation that began with the first release has none of them.
"""

from django.db import migrations

REPLACED = """
    DROP TABLE IF EXISTS transfers_payoutapproval, payments_discrepancyapproval, payments_attribution,
        payments_returnapproval, ledger_unsummedentries;
    ALTER TABLE IF EXISTS losses_missingcoins DROP COLUMN IF EXISTS proposed_by, DROP COLUMN IF EXISTS proposed_at;
    DROP TRIGGER IF EXISTS stop_of_policy ON transfers_payoutpolicy;
    DROP TRIGGER IF EXISTS stop_for_policy ON ledger_breaker;
    DROP FUNCTION IF EXISTS ledger_stop_of_policy, ledger_stop_for_policy;
    ALTER TABLE transfers_payoutpolicy DROP COLUMN IF EXISTS payouts_enabled;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0001_tables"),
        ("payments", "0001_tables"),
        ("transfers", "0001_tables"),
    ]

    operations = [migrations.RunSQL(REPLACED, migrations.RunSQL.noop)]
