"""Demand one hour ahead, by cluster and resource class: several candidates, a back-test, and the one that earned it."""
