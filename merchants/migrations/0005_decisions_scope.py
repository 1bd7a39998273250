"""Accepting money has a scope of its own: keys that could do it go on doing it."""

from django.db import migrations

GIVE = """
    UPDATE merchants_apikey SET scopes = ARRAY(
        SELECT scope FROM unnest(array_append(scopes, 'decisions:write')) AS scope ORDER BY scope COLLATE "C"
    )
    WHERE 'payments:write' = ANY(scopes) AND NOT 'decisions:write' = ANY(scopes)
"""
TAKE = "UPDATE merchants_apikey SET scopes = array_remove(scopes, 'decisions:write')"


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0004_key_rotation"),
    ]

    operations = [
        migrations.RunSQL(GIVE, TAKE),
    ]
