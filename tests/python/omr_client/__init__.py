"""A small client of omr, written from docs/wire.md, docs/service.md and proto/ alone.

It shows what another implementation needs, and tests that the documents say it. It is no library for daily use: nothing
is wiped from memory, and times depend on secrets.
"""
