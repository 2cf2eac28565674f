"""Exchange rates, first step: an XML file over HTTP becomes a tree, or an error that says what came instead.

Promises that nothing in the file is expanded or fetched: a document type declaration, which is where entities are
declared, is refused before anything in it is read. Neither the ECB nor HMRC sends one.
"""

from __future__ import annotations

from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from exporters.core.errors import IntegrityError, TerminalSourceError
from exporters.core.http import RetryPolicy, client, get

LARGEST_FILE_BYTES = 8_000_000
"""The ECB's daily file has 2 kB, its whole history since 1999 about 7 MB, HMRC's month 40 kB."""

LONGEST_READ_SECONDS = 30.0


def download(url: str, *, deadline_seconds: float) -> bytes:
    """This will return the body at a URL.

    Args:
        url: a checked endpoint.
        deadline_seconds: the time in which all tries must fit.

    Raises:
        TransientSourceError: throttled, cut off or down until the deadline.
        TerminalSourceError: an answer that another try cannot mend, or a web page.
        IntegrityError: an empty or a huge body.
    """
    policy = RetryPolicy(timeout_seconds=deadline_seconds)
    with client(timeout_seconds=min(deadline_seconds, LONGEST_READ_SECONDS)) as session:
        body = get(session, url, policy=policy).content
    if not body.strip():
        raise _not_whole("the body is empty", url)
    if len(body) > LARGEST_FILE_BYTES:
        raise _not_whole(f"the body has {len(body):,} bytes, far more than a rate file", url)
    if body.lstrip(b"\xef\xbb\xbf \t\r\n")[:64].lower().startswith((b"<!doctype html", b"<html")):
        raise TerminalSourceError(
            "a web page came instead of the XML file",
            where=url,
            next_step="Check the address; a proxy's log-in page answers like this too.",
        )
    return body


def read_xml(body: bytes, *, where: str) -> Element:
    """This will parse a body; element names come without their namespace.

    Raises:
        TerminalSourceError: it declares a document type or entities.
        IntegrityError: it is not well-formed XML, for example cut off.
    """

    def refuse(*_: object) -> NoReturn:
        raise TerminalSourceError(
            "the file declares a document type or entities, which a rate file never does",
            where=where,
            next_step="Check that the address is the real one; nothing of the file was used.",
        )

    builder = TreeBuilder()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = lambda name, attributes: builder.start(_local(name), attributes)
    parser.EndElementHandler = lambda name: builder.end(_local(name))
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(body, True)  # noqa: FBT003 - expat takes its arguments by position
    except expat.ExpatError as error:
        raise _not_whole(f"this is not whole XML ({error})", where) from error
    return builder.close()


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _not_whole(what: str, where: str) -> IntegrityError:
    return IntegrityError(
        what, where=where, next_step="The last good rates stay in use; it will be tried again at the next refresh."
    )
