"""Whether an operator gets a mail for each proposal that waits for them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0006_looking_at_a_dashboard"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="mails_proposals",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="A mail for each proposal of another operator that this person may agree to.",
                verbose_name="mail about proposals",
            ),
        ),
    ]
