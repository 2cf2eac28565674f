"""Serving HTTP, the same way for both packages: TLS and basic auth from a web-config file, graceful stops."""
