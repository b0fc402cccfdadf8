"""Installing the hooks into a harness's own settings, and taking them out again.

`harnesses` says what goes where; `planning` works out the changes of files; `files` makes them. Nothing here runs in a hook.
"""
