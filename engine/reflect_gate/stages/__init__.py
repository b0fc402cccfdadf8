"""The stages of the admission pipeline, each a standalone module with `measure` and `conclude` (R-x1)."""
