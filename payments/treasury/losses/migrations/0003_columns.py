"""Two columns of missing coins are left for old code, and one operator decides alone where one is enough."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [
        ("losses", "0002_proposals"),
    ]

    operations = [
        migrations.RemoveConstraint("missingcoins", "missing_coins_lost_by_two"),
        migrations.RemoveConstraint("missingcoins", "missing_coins_two_people"),
        migrations.AlterField(
            "missingcoins", "proposed_by", models.CharField(blank=True, db_default="", default="", max_length=150)
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField("missingcoins", "proposed_by"),
                migrations.RemoveField("missingcoins", "proposed_at"),
            ]
        ),
        migrations.AlterField(
            "missingcoins", "approved_by", models.CharField(blank=True, max_length=150, verbose_name="decided by")
        ),
        migrations.AlterField(
            "missingcoins",
            "reason",
            models.TextField(blank=True, help_text="What happened to the coins, in the words of who decided."),
        ),
        migrations.AddConstraint(
            "missingcoins",
            models.CheckConstraint(
                condition=~Q(status="lost") | (~Q(bearer="") & ~Q(reason="") & ~Q(approved_by="") & Q(held=0)),
                name="missing_coins_lost_by_people",
            ),
        ),
    ]
