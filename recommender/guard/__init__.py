"""Is a move worth it, and is now the time."""
