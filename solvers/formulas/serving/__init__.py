"""Serving: one step by kernel classes, the memory ledger, and requests in steady state."""
