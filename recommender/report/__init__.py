"""Report: a plan becomes one frozen view model, and each format renders that and nothing else."""
