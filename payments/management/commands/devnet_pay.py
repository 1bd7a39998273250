"""`manage.py devnet_pay`: lets the payer of the local networks pay. A checkout alone has them."""

from __future__ import annotations

from config.hooks import of_a_checkout

Command = of_a_checkout("tests.devnet.pay").Command
