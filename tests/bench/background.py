"""The background process as it is, but that its sandbox finds the local networks at the ports of this run."""

from __future__ import annotations

import json
import os
import sys

from config.embedded import background
from tests.evm.network import devnet

PORTS_VARIABLE = "BENCH_DEVNET_PORTS"

if __name__ == "__main__":
    os.environ["BALLAST_PROCESS"] = "background"
    for network, port in json.loads(os.environ[PORTS_VARIABLE]).items():
        devnet.PLACES[network] = devnet.PLACES[network]._replace(port=port)
    sys.exit(background.main())
