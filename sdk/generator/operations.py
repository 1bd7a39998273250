"""`python -m sdk.generator.operations`: the API's operations as JSON, by which a check counts what it called."""

from __future__ import annotations

import json
import sys

from sdk.generator.reading import read

if __name__ == "__main__":
    json.dump(
        [
            {"id": one.id, "method": one.method, "path": one.path, "resource": one.resource, "name": one.name}
            for one in read().operations
        ],
        sys.stdout,
        indent=1,
    )
