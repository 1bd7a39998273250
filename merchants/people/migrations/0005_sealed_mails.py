from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("people", "0004_invitation")]

    operations: ClassVar = [
        # The column keeps its name, so that processes of before go on.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField(model_name="mail", old_name="text", new_name="stored_text"),
                migrations.AlterField(model_name="mail", name="stored_text", field=models.TextField(db_column="text")),
            ]
        ),
        migrations.AddField(
            model_name="mail", name="is_sealed", field=models.BooleanField(default=False, db_default=False)
        ),
    ]
