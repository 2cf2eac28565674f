"""Asks the services of this machine whether they are ready: the health check of the image, without a shell or a client.

``python -m exporters.core.web.healthcheck PORT …`` ends with 0 if one of the ports is ready, else with 1. Only the
standard library, so that a check costs less than what it checks. Only loopback is asked, so a certificate that is made
out to another name tells nothing; Kubernetes' own HTTPS probes skip it likewise. A service that asks for a password
(401) answers, and more cannot be seen without one.
"""

from __future__ import annotations

import ssl
import sys
from http.client import HTTPConnection, HTTPException, HTTPSConnection

READY_PATH = "/-/ready"
TIMEOUT_SECONDS = 3.0
_READY = frozenset({200, 401})


def is_ready(port: int) -> bool:
    """This will tell whether a service on a loopback port says that it is ready, by HTTP or by HTTPS."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    plain = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    safe = HTTPSConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS, context=context)
    return _status(plain) in _READY or _status(safe) in _READY


def _status(connection: HTTPConnection) -> int | None:
    try:
        connection.request("GET", READY_PATH)
        return connection.getresponse().status
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()


def main() -> None:
    """This will end the process with what the ports given as arguments say."""
    ports = sys.argv[1:]
    if not ports or not all(port.isdecimal() for port in ports):
        sys.exit("usage: python -m exporters.core.web.healthcheck PORT …")
    if not any(is_ready(int(port)) for port in ports):
        sys.exit(f"not ready: {', '.join(ports)}")


if __name__ == "__main__":
    main()
