"""What the gate does with a store: judge against it, commit, recall, record what became of tasks, let lessons rise and go."""
