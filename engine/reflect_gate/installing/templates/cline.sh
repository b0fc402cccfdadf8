#!/bin/sh
# Written by `reflect-gate init cline`; `reflect-gate uninstall cline` takes it out.
command -v @PROGRAM@ >/dev/null 2>&1 || exit 0
exec @COMMAND@
