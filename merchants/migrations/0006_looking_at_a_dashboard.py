from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0005_words_of_choices"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="merchant",
            options={
                "permissions": [("view_as_merchant", "Can look at a merchant's dashboard as one of its viewers")],
            },
        ),
    ]
