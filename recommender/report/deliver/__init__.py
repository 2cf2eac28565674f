"""Reports go out: one file a channel; what is due and what was sent is decided apart from the sending."""
