"""The background process as it is, but that its sandbox finds the local networks at the ports of this run."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace

from config.embedded import background
from payments.chains.evm.development import devnet
from payments.chains.networks import NETWORKS

PORTS_VARIABLE = "BENCH_DEVNET_PORTS"

if __name__ == "__main__":
    os.environ["BALLAST_PROCESS"] = "background"
    for network, port in json.loads(os.environ[PORTS_VARIABLE]).items():
        NETWORKS[network] = replace(NETWORKS[network], local=replace(devnet.node(network), port=port))
    sys.exit(background.main())
