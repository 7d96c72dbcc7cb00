"""Digests for a server, made on a cluster of Ray: `python -m omr.ray --server URL`.

A driver leases units of work from the server, which stays the one place that keeps anything, and has them done by actors
in pieces: one batch of messages for the recipients of a unit. Ray places actors, restores lost arrays, and adds machines;
whatever of it dies, leases run out and the server hands the work out anew.

Ray is optional: `pip install 'ray>=2.60,<3' numpy`. Its cluster must be private, since who reaches it may run anything there.
"""

from omr._omr import Leases, Maker, Unit
from omr.ray.actor import Actor, Server
from omr.ray.driver import Driver, Figures
from omr.ray.pool import Pool, Settings

__all__ = ["Actor", "Driver", "Figures", "Leases", "Maker", "Pool", "Server", "Settings", "Unit"]
