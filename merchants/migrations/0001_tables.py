"""The tables of this app as of the first release.

PostgreSQL keeps an owner for every merchant that has one, whoever changes the table, and how.
"""

import config.ids
import datetime
import django.contrib.postgres.fields
import django.contrib.postgres.functions
import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


# Two transactions that each take one of two owners away wait for each other by the lock of the merchant; the second
# then sees what the first has done.
KEEP_AN_OWNER = """
    CREATE FUNCTION merchants_require_owner() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM FROM merchants_merchant WHERE id = OLD.merchant_id FOR NO KEY UPDATE;
        IF NOT EXISTS (SELECT FROM merchants_member WHERE merchant_id = OLD.merchant_id AND role = 'owner') THEN
            RAISE EXCEPTION 'merchant % needs at least one owner', OLD.merchant_id
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NULL;
    END $$;

    CREATE CONSTRAINT TRIGGER member_keeps_an_owner AFTER UPDATE OR DELETE ON merchants_member
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.role = 'owner')
        EXECUTE FUNCTION merchants_require_owner();
"""

DROP = """
    DROP TRIGGER member_keeps_an_owner ON merchants_member;
    DROP FUNCTION merchants_require_owner;
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="Merchant",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                ("name", models.CharField(max_length=120)),
                ("email", models.EmailField(help_text="Where operational mail goes.", max_length=254)),
                (
                    "plan",
                    models.CharField(
                        choices=[("starter", "Starter"), ("business", "Business"), ("enterprise", "Enterprise")],
                        default="starter",
                        max_length=20,
                    ),
                ),
                (
                    "requests_per_minute",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Production request budget of an enterprise merchant; empty: the plan's own.",
                        null=True,
                    ),
                ),
                (
                    "fee_bps",
                    models.PositiveSmallIntegerField(
                        blank=True,
                        help_text="Of what is settled, in hundredths of a percent; empty: the plan's own.",
                        null=True,
                    ),
                ),
                ("is_active", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            bases=(config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="IdempotencyRecord",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("key", models.CharField(max_length=255)),
                ("request_digest", models.BinaryField(max_length=32)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("body", models.BinaryField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
        ),
        migrations.CreateModel(
            name="Member",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "uid",
                    models.UUIDField(
                        db_default=django.contrib.postgres.functions.RandomUUID(),
                        default=config.ids.new_uuid,
                        editable=False,
                        unique=True,
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("owner", "Owner"),
                            ("admin", "Admin"),
                            ("developer", "Developer"),
                            ("support", "Support"),
                            ("viewer", "Viewer"),
                        ],
                        default="owner",
                        max_length=12,
                    ),
                ),
                ("joined_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("language", models.CharField(db_default="en", default="en", max_length=10)),
                ("timezone", models.CharField(db_default="UTC", default="UTC", max_length=64)),
                (
                    "number_style",
                    models.CharField(
                        choices=[
                            ("comma", "1,234,567.89"),
                            ("point", "1.234.567,89"),
                            ("space", "1\u202f234\u202f567,89"),
                            ("apostrophe", "1’234’567.89"),
                        ],
                        db_default="comma",
                        default="comma",
                        max_length=12,
                    ),
                ),
                (
                    "chosen_notices",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20),
                        blank=True,
                        help_text="Empty: what is usual for the role.",
                        null=True,
                        size=None,
                    ),
                ),
                ("hides_first_steps", models.BooleanField(db_default=False, default=False)),
            ],
            bases=(config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="MerchantSettings",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("settlement_currency", models.CharField(default="USDC", max_length=8)),
                (
                    "settlement_frequency",
                    models.CharField(
                        choices=[
                            ("daily", "Daily"),
                            ("weekly", "Weekly"),
                            ("monthly", "Monthly"),
                            ("manual", "Manual"),
                        ],
                        default="daily",
                        max_length=10,
                    ),
                ),
                ("settlement_time", models.TimeField(default=datetime.time(0, 0))),
                ("settlement_timezone", models.CharField(default="UTC", max_length=64)),
                (
                    "settlement_weekday",
                    models.PositiveSmallIntegerField(blank=True, help_text="1 Monday to 7 Sunday.", null=True),
                ),
                ("settlement_monthday", models.PositiveSmallIntegerField(blank=True, help_text="1 to 31.", null=True)),
                ("settlement_minimum", models.DecimalField(decimal_places=6, default=0, max_digits=20)),
                (
                    "payment_tolerance_bps",
                    models.PositiveSmallIntegerField(
                        default=0,
                        help_text="How far short a payment may fall and still complete, in hundredths of a percent.",
                    ),
                ),
                (
                    "late_payments",
                    models.CharField(
                        choices=[
                            ("hold", "Hold for a decision"),
                            ("accept", "Accept within 24 hours when the amount is complete"),
                        ],
                        default="hold",
                        max_length=10,
                    ),
                ),
                (
                    "surplus",
                    models.CharField(
                        choices=[
                            ("ask", "Hold for a decision"),
                            ("give_back", "Give it back to the payer"),
                            ("keep", "Keep it up to a share of the price"),
                        ],
                        default="ask",
                        max_length=10,
                    ),
                ),
                (
                    "surplus_kept_bps",
                    models.PositiveSmallIntegerField(
                        default=0,
                        help_text="Of the price, in hundredths of a percent: so much of a surplus is kept, where it is.",
                    ),
                ),
                (
                    "surplus_since",
                    models.DateTimeField(help_text="Payments made before wait for a decision.", null=True),
                ),
                (
                    "wallet_allow_list",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=80), blank=True, default=list, size=None
                    ),
                ),
                (
                    "wallets_allowed_at",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="When each wallet came onto the allow list, as ISO 8601: it must cool off.",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "merchant settings",
            },
        ),
        migrations.CreateModel(
            name="RecordCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("merchant_id", models.UUIDField()),
                ("environment", models.CharField(max_length=10)),
                ("kind", models.CharField(max_length=20)),
                ("status", models.CharField(max_length=20)),
                ("day", models.DateField()),
                ("total", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="RecordCountDelta",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("merchant_id", models.UUIDField()),
                ("environment", models.CharField(max_length=10)),
                ("kind", models.CharField(max_length=20)),
                ("status", models.CharField(max_length=20)),
                ("day", models.DateField(help_text="The UTC day on which the counted record was created.")),
                ("change", models.SmallIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="SeenSignature",
            fields=[
                ("signature", models.BinaryField(max_length=32, primary_key=True, serialize=False)),
                ("seen_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                ("email", models.EmailField(max_length=254, unique=True)),
                ("name", models.CharField(blank=True, max_length=120)),
                ("is_staff", models.BooleanField(default=False)),
                ("is_active", models.BooleanField(default=True)),
                ("joined_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "credentials_reset_at",
                    models.DateTimeField(
                        editable=False,
                        help_text="When the password was last replaced without the old one, or the second factors were removed.",
                        null=True,
                    ),
                ),
                (
                    "let_in_by_operators_at",
                    models.DateTimeField(
                        editable=False,
                        help_text="When operators last made this person a member of a merchant, or removed the second factors.",
                        null=True,
                    ),
                ),
                (
                    "is_password_known",
                    models.BooleanField(
                        default=False, editable=False, help_text="Another person has chosen the password."
                    ),
                ),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("name", models.CharField(max_length=80)),
                ("public_key", models.CharField(max_length=64, unique=True)),
                ("secret_digest", models.BinaryField(max_length=32)),
                (
                    "pepper",
                    models.CharField(
                        blank=True,
                        help_text="Name of the pepper that the digest is under; empty: of the first one.",
                        max_length=16,
                    ),
                ),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=30),
                        blank=True,
                        default=list,
                        help_text="Empty: full access.",
                        size=None,
                    ),
                ),
                (
                    "allowed_networks",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=50),
                        blank=True,
                        default=list,
                        help_text="IP networks; empty: from anywhere.",
                        size=None,
                    ),
                ),
                ("require_signature", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "last_used_from",
                    models.GenericIPAddressField(blank=True, help_text="The address of that request.", null=True),
                ),
                (
                    "retires_at",
                    models.DateTimeField(
                        blank=True, help_text="When a pair that was replaced ends; both work until then.", null=True
                    ),
                ),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "replaced_by",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.apikey",
                    ),
                ),
            ],
            bases=(config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="AttemptCount",
            fields=[
                ("subject", models.CharField(max_length=330, primary_key=True, serialize=False)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("last_attempt_at", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["last_attempt_at"], name="attempt_count_by_age")],
            },
        ),
        migrations.CreateModel(
            name="Branding",
            fields=[
                (
                    "merchant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="branding",
                        serialize=False,
                        to="merchants.merchant",
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=80)),
                ("accent", models.CharField(blank=True, help_text="A colour as #rrggbb.", max_length=7)),
                (
                    "support",
                    models.CharField(blank=True, help_text="An e-mail address, or one of the web.", max_length=254),
                ),
                ("logo_width", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("logo_height", models.PositiveSmallIntegerField(blank=True, null=True)),
                (
                    "version",
                    models.CharField(help_text="In the addresses of stylesheet and logo.", max_length=32, unique=True),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="merchant",
            constraint=models.CheckConstraint(
                condition=models.Q(("fee_bps__isnull", True), ("fee_bps__lt", 10000), _connector="OR"),
                name="merchant_fee_bps",
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="merchant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="api_keys", to="merchants.merchant"
            ),
        ),
        migrations.AddField(
            model_name="idempotencyrecord",
            name="merchant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="merchants.merchant"
            ),
        ),
        migrations.AddField(
            model_name="member",
            name="merchant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="members", to="merchants.merchant"
            ),
        ),
        migrations.AddField(
            model_name="member",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="memberships", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="merchantsettings",
            name="merchant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="settings", to="merchants.merchant"
            ),
        ),
        migrations.AddConstraint(
            model_name="recordcount",
            constraint=models.UniqueConstraint(
                fields=("merchant_id", "environment", "kind", "status", "day"), name="count_once_per_day"
            ),
        ),
        migrations.AddIndex(
            model_name="recordcountdelta",
            index=models.Index(fields=["merchant_id", "environment", "kind"], name="count_delta_of"),
        ),
        migrations.AddIndex(
            model_name="seensignature",
            index=models.Index(fields=["seen_at"], name="seen_signature_by_age"),
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.UniqueConstraint(
                django.db.models.functions.text.Lower("email"), name="user_email_unique"
            ),
        ),
        migrations.CreateModel(
            name="BrandLogo",
            fields=[
                (
                    "branding",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="logo",
                        serialize=False,
                        to="merchants.branding",
                    ),
                ),
                ("png", models.BinaryField()),
            ],
        ),
        migrations.AddIndex(
            model_name="apikey",
            index=models.Index(fields=["merchant", "environment"], name="api_key_of"),
        ),
        migrations.AddConstraint(
            model_name="apikey",
            constraint=models.CheckConstraint(
                condition=models.Q(("environment__in", ["sandbox", "production"])), name="api_key_environment"
            ),
        ),
        migrations.AddConstraint(
            model_name="apikey",
            constraint=models.CheckConstraint(
                condition=models.Q(("retires_at__isnull", True), ("replaced_by__isnull", False), _connector="OR"),
                name="api_key_retires_replaced",
            ),
        ),
        migrations.AddIndex(
            model_name="idempotencyrecord",
            index=models.Index(fields=["created_at"], name="idempotency_by_age"),
        ),
        migrations.AddConstraint(
            model_name="idempotencyrecord",
            constraint=models.UniqueConstraint(fields=("merchant", "environment", "key"), name="idempotency_key_once"),
        ),
        migrations.AddConstraint(
            model_name="member",
            constraint=models.UniqueConstraint(fields=("merchant", "user"), name="member_once"),
        ),
        migrations.AddConstraint(
            model_name="member",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["owner", "admin", "developer", "support", "viewer"])),
                name="member_role",
            ),
        ),
        migrations.AddConstraint(
            model_name="merchantsettings",
            constraint=models.UniqueConstraint(
                fields=("merchant", "environment"), name="settings_once_per_environment"
            ),
        ),
        migrations.AddConstraint(
            model_name="merchantsettings",
            constraint=models.CheckConstraint(
                condition=models.Q(("environment__in", ["sandbox", "production"])), name="settings_environment"
            ),
        ),
        migrations.AddConstraint(
            model_name="merchantsettings",
            constraint=models.CheckConstraint(
                condition=models.Q(("payment_tolerance_bps__lte", 50)), name="settings_tolerance_at_most_half_percent"
            ),
        ),
        migrations.AddConstraint(
            model_name="merchantsettings",
            constraint=models.CheckConstraint(
                condition=models.Q(("surplus__in", ["ask", "give_back", "keep"]), ("surplus_kept_bps__lte", 100)),
                name="settings_surplus",
            ),
        ),
        migrations.RunSQL(KEEP_AN_OWNER, DROP),
    ]
