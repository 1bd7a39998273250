"""What an account of a kind may be is a function of the chart, replaced after each `migrate`: no migration lists the kinds."""

import merchants.ledger.models
from django.db import migrations, models
from merchants.ledger import kinds


class Migration(migrations.Migration):
    dependencies = [("ledger", "0016_no_unsummed_entries")]

    operations = [
        migrations.RunSQL(kinds.functions_of_chart(), kinds.WITHOUT),
        migrations.AlterField(
            "account", "kind", models.CharField(max_length=30, choices=merchants.ledger.models.kinds_of_accounts)
        ),
        migrations.RemoveConstraint("account", "account_balance_not_negative"),
        migrations.AddConstraint(
            "account", models.CheckConstraint(condition=kinds.allows_balance(), name="account_balance_not_negative")
        ),
        migrations.RemoveConstraint("account", "account_owner_by_kind"),
        migrations.AddConstraint(
            "account", models.CheckConstraint(condition=kinds.allows_owner(), name="account_owner_by_kind")
        ),
    ]
