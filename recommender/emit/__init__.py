"""Advice as objects that a scheduler, a GitOps repository or a mesh takes as they are; one file a system."""
