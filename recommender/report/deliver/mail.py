"""The report as mail: text and HTML beside each other, charts as pictures, the rows as an attachment.

Mail programs drop scripts, style sheets and SVG: the style stands in the elements (css-inline) and charts are PNG parts
(RFC 2387). The message id follows from the report's key, so that the same report sent twice is one message to a
program that looks.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr

from exporters.core.web.templates import environment
from recommender.report import csv, markdown
from recommender.report.charts.drawing import Chart, can_draw, png
from recommender.report.deliver.contract import Parcel

MOST_ADVICE = 10
MOST_CAPACITY = 5
MOST_ATTACHED_BYTES = 5 * 1024 * 1024
"""Of rows as CSV; many servers refuse messages of 10 MB, and base64 adds a third."""


def message(parcel: Parcel, *, sender: str, to: tuple[str, ...], at: datetime) -> EmailMessage:
    """This will return the message, ready to be sent.

    Args:
        parcel: the report.
        sender: its address, with or without a name.
        to: addresses.
        at: when it is sent.
    """
    mail = EmailMessage(policy=SMTP)
    mail["Subject"] = _header(f"Tuppence: {parcel.report.title}{f', {parcel.scope}' if parcel.scope else ''}")
    mail["From"], mail["To"] = sender, ", ".join(to)
    mail["Date"] = format_datetime(at)
    domain = parseaddr(sender)[1].rpartition("@")[2] or "tuppence.invalid"
    mail["Message-ID"] = f"<{hashlib.sha256(parcel.key.encode()).hexdigest()[:32]}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(markdown.render(parcel.report))
    rows = csv.render(parcel.report).encode()
    attached = len(rows) <= MOST_ATTACHED_BYTES
    pictures = [(chart, f"{chart.name}@tuppence") for chart in parcel.charts] if can_draw() else []
    mail.add_alternative(_page(parcel, {chart.name: cid for chart, cid in pictures}, attached=attached), subtype="html")
    page = list(mail.iter_parts())[-1]
    assert isinstance(page, EmailMessage)
    for chart, cid in pictures:
        page.add_related(png(chart), "image", "png", cid=f"<{cid}>", filename=f"{chart.name}.png", disposition="inline")
    if attached:
        mail.add_attachment(rows, "text", "csv", filename=f"{parcel.key}.csv")
    return mail


def _page(parcel: Parcel, cids: dict[str, str], *, attached: bool) -> str:
    report = parcel.report
    advice = [*report.owed[:MOST_ADVICE], *report.top][:MOST_ADVICE]
    shown: list[tuple[Chart, str]] = [(chart, cids.get(chart.name, "")) for chart in parcel.charts]
    html = (
        environment("recommender.report")
        .get_template("mail.html")
        .render(
            report=report,
            scope=parcel.scope,
            link=parcel.link,
            advice=advice,
            left=len(report.advice) - len(advice),
            most_capacity=MOST_CAPACITY,
            charts=shown,
            attached=attached,
        )
    )
    return _inlined(html)


def _inlined(html: str) -> str:
    """The style in the elements; without css-inline (extra ``charts``) the page keeps its sheet, which some drop."""
    try:
        import css_inline  # noqa: PLC0415 - of an extra
    except ModuleNotFoundError:
        return html
    return css_inline.inline(html, load_remote_stylesheets=False)


def _header(text: str) -> str:
    """A header is one line; what would begin another is shown, not obeyed."""
    return "".join(one if one.isprintable() else "�" for one in text)[:200]
