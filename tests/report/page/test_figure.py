"""Figures in a page: nothing of a file of its own, and no name twice."""

from __future__ import annotations

import re

from mapper.report.page.figure import figure, inline
from tests.report.page.dom import parse

DRAWING = b"""<?xml version="1.0" encoding="utf-8" standalone="no"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="72pt" height="36pt" viewBox="0 0 72 36"
 xmlns="http://www.w3.org/2000/svg" version="1.1">
 <metadata><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></metadata>
 <defs><style type="text/css">*{stroke-linejoin: round}</style><clipPath id="p1"><rect/></clipPath></defs>
 <g id="glyph" clip-path="url(#p1)" style="fill: url(#h0); stroke: none"><use xlink:href="#glyph"/>
 <text>a &lt; b</text></g>
</svg>"""


def test_names_and_references_begin_with_the_figure() -> None:
    svg = parse(inline(DRAWING, "energy", "Energy")).one("svg")
    assert svg.one("clippath").attributes == {"id": "energy-p1"}
    group = svg.one("g").attributes
    assert group == {
        "id": "energy-glyph",
        "clip-path": "url(#energy-p1)",
        "style": "fill: url(#energy-h0); stroke: none",
    }
    assert svg.one("use").attributes == {"href": "#energy-glyph"}


def test_nothing_points_outside_or_holds_for_the_page() -> None:
    text = inline(DRAWING, "energy", "Energy")
    assert not re.search(r"http|xmlns|DOCTYPE|<\?xml|<style|<metadata|ns\d:", text)
    assert "a &lt; b" in text


def test_it_fits_the_page_and_says_what_it_is() -> None:
    found = parse(figure("energy", DRAWING, "Energy by <layer>.", "Energy")).one("figure")
    assert found.attributes == {"id": "figure-energy"}
    assert found.one("figcaption").text == "Energy by <layer>."
    svg = found.one("svg").attributes
    assert svg == {
        "viewbox": "0 0 72 36",
        "version": "1.1",
        "role": "img",
        "aria-label": "Energy",
        "style": "max-width:96px",
    }
