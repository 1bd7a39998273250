"""The background process as it is, but that its sandbox finds the local networks at the ports of this run."""

from __future__ import annotations

import json
import os
import sys

from config.embedded import background
from payments.chains.evm.development import devnet

PORTS_VARIABLE = "BENCH_DEVNET_PORTS"

if __name__ == "__main__":
    os.environ["BALLAST_PROCESS"] = "background"
    devnet.PORTS.update(json.loads(os.environ[PORTS_VARIABLE]))
    sys.exit(background.main())
