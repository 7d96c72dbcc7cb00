"""`python -m omr.ray`: makes digests for a server on a cluster."""

from __future__ import annotations

import argparse
import dataclasses
import json
import logging
import os
import pathlib
import signal
import sys

from omr.errors import OmrError
from omr.ray.actor import ray
from omr.ray.driver import Driver
from omr.ray.pool import Settings


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m omr.ray", description=__doc__)
    add = parser.add_argument
    add("--server", metavar="URL", required=True, help="the server whose digests it makes")
    add("--token-file", metavar="FILE", help="file of a token with the right work; OMR_TOKEN unless given")
    add("--ca", metavar="FILE", help="certificate of the server's authority, in PEM")
    add("--name", help="what the server's log calls it; random unless given")
    add("--address", default="auto", help="the cluster; local: one of its own on this machine (default: auto)")
    add("--min", dest="least", type=int, default=1, metavar="N", help="actors that stay without work (default: 1)")
    add("--max", dest="most", type=int, default=1, metavar="N", help="actors at most (default: 1)")
    add("--cpus", type=float, default=1, metavar="N", help="processors of each actor: all of a machine (default: 1)")
    add("--gpus", type=float, default=0, metavar="N", help="GPUs of each actor (default: 0)")
    add("--resource", action="append", default=[], metavar="NAME=N", help="other resources that each actor needs")
    add("--threads", type=int, metavar="N", help="threads of each actor; as its processors unless given")
    add("--keys", type=int, default=8, metavar="N", help="keys that an actor keeps in memory (default: 8)")
    add("--pieces", type=int, default=2, metavar="N", help="batches that an actor keeps in memory (default: 2)")
    add(
        "--prepared",
        dest="prepared_bytes",
        type=int,
        default=1 << 30,
        metavar="BYTES",
        help="payloads that an actor keeps prepared for fetches (default: 1 GB)",
    )
    add("--together", type=int, default=0, metavar="N", help="recipients of one unit at most")
    add("--batches", type=int, default=1, metavar="N", help="batches of one task; 0: units are done whole (default: 1)")
    add("--idle", type=float, default=60, metavar="S", help="seconds until an actor without work ends (default: 60)")
    add("--until-idle", type=float, metavar="S", help="end after so many seconds without work")
    add("--json", action="store_true", help="print what was done as JSON")
    return parser


def _settings(args: argparse.Namespace) -> Settings:
    names = {field.name for field in dataclasses.fields(Settings)}
    given = {name: value for name, value in vars(args).items() if name in names}
    pairs = (text.partition("=") for text in args.resource)
    return Settings(**given, resources={name: float(number) for name, _, number in pairs})


def main() -> int:
    """Works until it is told to stop."""
    args = _arguments().parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    token = pathlib.Path(args.token_file).read_text() if args.token_file else os.environ.get("OMR_TOKEN", "")
    # Lines of actors and tasks come here, too.
    logs = ray().LoggingConfig(encoding="TEXT", log_level="INFO")
    ray().init(address=args.address, logging_config=logs, logging_level=logging.WARNING)
    try:
        driver = Driver(args.server, token.strip(), _settings(args), name=args.name, ca=args.ca)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: driver.stop())
        # Programs that start a driver read this line.
        print(f"working for {args.server}", flush=True)
        figures = dataclasses.asdict(driver.run(idle=args.until_idle))
    except (OmrError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        ray().shutdown()
    if args.json:
        print(json.dumps(figures), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
