"""Private database queries: rows of a table by a condition whose constants its owner cannot read.

Tables come from any library that has Arrow's interface, and rows go to any; none is needed.
"""

from omr._omr import EvaluationKey, Keys, Query, Rows, Schema, Server, Table

__all__ = ["EvaluationKey", "Keys", "Query", "Rows", "Schema", "Server", "Table"]
