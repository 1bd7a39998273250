from typing import Any

from django.db import migrations, models
from django.utils import timezone


def note_those_that_wait(apps: Any, _: Any) -> None:
    """Since when they wait was not kept: they are told of as if it began now."""
    waiting = apps.get_model("settlements", "Settlement").objects.filter(status="pending").exclude(failure_code="")
    waiting.update(waits_since=timezone.now())


class Migration(migrations.Migration):
    dependencies = [
        ("settlements", "0005_fees_given_back"),
    ]

    operations = [
        migrations.AddField(
            model_name="settlement",
            name="waits_since",
            field=models.DateTimeField(
                blank=True,
                help_text="Since when something keeps it back, without a pause; empty while nothing does.",
                null=True,
            ),
        ),
        migrations.RunPython(note_those_that_wait, migrations.RunPython.noop, elidable=True),
    ]
