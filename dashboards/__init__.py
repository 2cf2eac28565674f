"""Grafana dashboards as code: what Prometheus scraped becomes something to look at.

``python -m dashboards`` writes the JSON that Grafana is provisioned with; ``--check`` says whether it is up to date.
"""
