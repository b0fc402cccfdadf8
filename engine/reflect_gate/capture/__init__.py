"""From a captured failure to a lesson: what is taken in, the queue between, the one call, and the workers that do it.

`capturing.capture` takes a failure in and returns at once; `working.Worker` works off what was taken in; `reflecting.run` is what
becomes of one failure. Nothing is imported here: a hook that captures must not pay for what a worker needs.
"""
