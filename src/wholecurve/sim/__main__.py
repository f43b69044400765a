"""The child of `wholecurve.sim.start`: options as a JSON line on stdin, the URL on stdout; serves until stdin ends."""

from __future__ import annotations

import sys

import orjson

from wholecurve.model.errors import WholecurveError
from wholecurve.sim.options import SimOptions
from wholecurve.sim.process import serve


def main() -> int:
    """Serve as told; the exit code."""
    # Unbuffered: what is left on stdin must not be read ahead, its end is what stops the server.
    stdin = sys.stdin.buffer.raw if hasattr(sys.stdin.buffer, "raw") else sys.stdin.buffer
    options = SimOptions.from_json(orjson.loads(stdin.readline()))
    try:
        serve(options, ready=lambda url: print(url, flush=True), stop_on=stdin)
    except WholecurveError as error:
        print(error.message, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
