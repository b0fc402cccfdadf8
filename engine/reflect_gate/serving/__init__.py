"""The gate as a service: HTTP in front of what the command line does, with tokens, limits, and the same documents.

`running.serve` is the way in; it needs the extra `serve`. Modules that speak HTTP (`app`, `running`) import starlette and
uvicorn; everything else here does not.
"""
