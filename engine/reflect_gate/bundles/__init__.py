"""Policy bundles as one archive: built, looked into, signed and verified; and policies taken from an archive or a git ref."""
