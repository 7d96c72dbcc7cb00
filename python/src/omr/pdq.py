"""Private database queries: rows of a table by a condition whose constants its owner cannot read.

Tables come from any library that has Arrow's interface, and rows go to any; none is needed.
"""

try:
    from omr._omr import EvaluationKey, Keys, Query, Rows, Schema, Server, Table
except ImportError:
    # Releases have it in a wheel of its own.
    try:
        from omr_pdq._omr import (  # type: ignore[import-not-found,import-untyped,no-redef,unused-ignore]
            EvaluationKey,
            Keys,
            Query,
            Rows,
            Schema,
            Server,
            Table,
        )
    except ImportError as _missing:
        raise ImportError(
            "expected the package oblivious-omr-pdq, found none: install its wheel, oblivious_omr_pdq-*.whl,"
            " from the release that this package is of"
        ) from _missing

__all__ = ["EvaluationKey", "Keys", "Query", "Rows", "Schema", "Server", "Table"]
