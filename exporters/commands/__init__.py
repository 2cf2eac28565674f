"""The exporter's commands: arguments in, one call each, results out."""
