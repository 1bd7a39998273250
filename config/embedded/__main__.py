"""`python -m config.embedded run` and `python -m config.embedded manage <command>`."""

from __future__ import annotations

import sys

from config.embedded import supervisor

USAGE = "usage: python -m config.embedded run | manage COMMAND [ARGUMENT ...]"


def main() -> int:
    match sys.argv[1:]:
        case ["run"]:
            return supervisor.run()
        case ["manage", *arguments]:
            return supervisor.manage(arguments)
    print(USAGE, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
