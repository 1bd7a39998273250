from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0007_mail_about_proposals"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="merchant",
            options={
                "permissions": [
                    ("change_fee", "Can change a merchant's plan and fee"),
                    ("view_as_merchant", "Can look at a merchant's dashboard as one of its viewers"),
                ],
            },
        ),
    ]
