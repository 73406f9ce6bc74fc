"""Elements: what is text stays text."""

from __future__ import annotations

import pytest

from mapper.report.page.html import Html, escaped, joined, tag


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>", "&lt;script&gt;"),
        ("a & b", "a &amp; b"),
        ("\"'", "&quot;&#x27;"),
        ("&lt;", "&amp;lt;"),
        ("a\x00b\x1b[0m\x85\ud800", "a\ufffdb\ufffd[0m\ufffd\ufffd"),
        ("tab\tline\n", "tab\tline\n"),
    ],
)
def test_text_and_attributes_are_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown
    assert tag("p", text, title=text) == f'<p title="{shown}">{shown}</p>'


def test_html_is_not_escaped_twice() -> None:
    assert tag("p", tag("b", "<"), Html("<i>"), " ", ["a", None, [tag("br")]]) == "<p><b>&lt;</b><i> a<br></p>"
    assert joined(["<", Html("<")]) == "&lt;<"


def test_attributes_have_their_names_and_may_be_left_out() -> None:
    found = tag("th", class_="a", data_value=3, aria_sort=None, hidden=True, disabled=False, for_="x", name="n")
    assert found == '<th class="a" data-value="3" hidden for="x" name="n"></th>'
    assert tag("input", type="search") == '<input type="search">'
