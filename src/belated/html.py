"""HTML tables for notebooks: self-contained, without scripts and without colours of their own.

Because the tables have no colours, they are readable on light and on dark backgrounds.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Final

ALIGN_LEFT: Final = ' style="text-align:left"'


def describe(title: str, facts: Mapping[str, object], *parts: str) -> str:
    """Return a titled table of facts as HTML.

    Parameters
    ----------
    title : str
        Title; it is escaped.
    facts : mapping
        Map from the name of each fact to its value. Names and values are escaped. Facts with the
        value "" are omitted.
    *parts : str
        HTML to append, such as the results of `format_table`.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> describe("Run", {"seed": 3, "base": ""})
    '<div><b>Run</b><table><tr><th style="text-align:left">seed</th><td
    style="text-align:left">3</td></tr></table></div>'
    """
    rows = [(name, str(value)) for name, value in facts.items() if value != ""]
    return f"<div><b>{escape(title)}</b>{format_table(rows, head=None)}{''.join(parts)}</div>"


def format_table(rows: Iterable[Sequence[str]], *, head: Sequence[str] | None) -> str:
    """Return `rows` of text as an HTML table.

    `head` is the header row. If `head` is None, the first cell of each row is a header.
    """
    lines = [] if head is None else ["".join(format_cell("th", text) for text in head)]
    for first, *others in rows:
        tag = "th" if head is None else "td"
        lines.append(format_cell(tag, first) + "".join(format_cell("td", text) for text in others))
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def format_cell(tag: str, text: str) -> str:
    """Return an HTML table cell with the tag name `tag` ("td" or "th") and escaped `text`."""
    return f"<{tag}{ALIGN_LEFT}>{escape(text)}</{tag}>"


def format_details(summary: str, content: str) -> str:
    """Return an HTML block that shows `content`, in HTML, when the text `summary` is clicked."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"
