"""In the harness: what a coding agent's hooks say is read, failures are collected, lessons are handed over, and nothing else.

`running.main` is the whole of a hook's process; `dialects.DIALECTS` says whose hooks are understood; `transcripts.FORMATS` says
whose records are. Nothing is imported here: a hook with nothing to say must cost no more than a bare interpreter and a little.
"""
