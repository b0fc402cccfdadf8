"""Bulk replay: requests in Parquet, judged a row group at a time on Dask, each outcome written whole (docs/bulk.md).

`running.replay` is the way in. Nothing here is imported unless a verb is asked for bulk: it needs the extra `scale`.
"""
