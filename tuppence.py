"""The command: mounts the commands of the two packages."""
