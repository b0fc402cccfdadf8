"""What differs between two bundles: in their files, in what is in force, and in what they decide; and which change decides it."""
