# Written by `reflect-gate init cline`; `reflect-gate uninstall cline` takes it out.
if (-not (Get-Command '@PROGRAM@' -ErrorAction SilentlyContinue)) { exit 0 }
$input | @COMMAND@
