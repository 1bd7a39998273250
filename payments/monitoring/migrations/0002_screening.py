"""The alarm about an address on a sanctions list."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("operations", "0001_tables"),
    ]

    operations = [
        migrations.AlterField(
            model_name="alarm",
            name="kind",
            field=models.CharField(
                choices=[
                    ("provider_failing", "Provider fails"),
                    ("provider_old_head", "Provider is behind"),
                    ("provider_disagrees", "Provider says something else"),
                    ("provider_put_aside", "Provider is put aside"),
                    ("network_not_set_up", "Network is set up wrongly"),
                    ("role_changed", "A role of the factory changed"),
                    ("network_unavailable", "Network is not read"),
                    ("network_halted", "Network is halted"),
                    ("head_stalled", "No new blocks"),
                    ("finality_stalled", "Nothing becomes final"),
                    ("clock_and_chain_differ", "Clock and network differ"),
                    ("payouts_stopped", "Payouts are stopped"),
                    ("wallet_frozen", "Wallet is frozen"),
                    ("wallet_cannot_send", "Wallet cannot send"),
                    ("signer_unavailable", "Signer does not answer"),
                    ("signer_refuses", "Signer refuses"),
                    ("coin_paused", "Coin is paused"),
                    ("hot_wallet_blocked", "Hot wallet is blocked"),
                    ("transfer_stuck", "Transfer is stuck"),
                    ("sweep_stuck", "Sweep is stuck"),
                    ("address_passed_over", "Coins cannot be swept"),
                    ("coins_missing", "Coins are missing"),
                    ("cold_wallet_moved", "Coins left the cold wallet"),
                    ("refill_needed", "Hot wallet needs a refill"),
                    ("wallet_differs", "Hot wallet and ledger differ"),
                    ("coins_clawed_back", "Coins were clawed back"),
                    ("coins_set_aside", "Coins wait to be claimed"),
                    ("screened", "A sanctions list names an address"),
                    ("record_set_aside", "A transaction cannot be read"),
                    ("gas_tank_low", "The gas balance runs low"),
                    ("database_restored", "Database was restored"),
                    ("work_behind", "Work is behind"),
                    ("clock_off", "A clock is wrong"),
                    ("reconcile_not_clean", "Reconcile found something"),
                    ("operator_reset", "An operator's access was reset"),
                ],
                max_length=30,
            ),
        ),
    ]
