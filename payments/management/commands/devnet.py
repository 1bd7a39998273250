"""`manage.py devnet`: local networks with coins, a hot wallet and a payer, until Ctrl-C. A checkout alone has them."""

from __future__ import annotations

from config.hooks import of_a_checkout

Command = of_a_checkout("tests.devnet.start").Command
