"""What a person can look at: progress, tables, pictures."""
