"""Constraints as text, written like a mapping: `GLB: C<=8 P=7 | X: K=16`.

    text    = part ("|" part)*
    part    = LEVEL ":" factors | LEVEL axis ":" factors | LEVEL "order:" dimensions
            | LEVEL "keeps:" tensors | LEVEL "bypasses:" tensors | "min_utilization:" NUMBER
    axis    = "X" | "Y"
    factors = (DIM NUMBER | DIM "=" values | DIM "<=" NUMBER | DIM ">=" NUMBER)*
    values  = NUMBER | NUMBER ".." NUMBER | NUMBER ("," NUMBER)*

Behind a bar the level may be left out: it is that of the part on the left, as in a mapping. What the mapping notation
writes (`GLB: C4 P7 | X: K16`) reads as fixed factors; the sequence of the loops says nothing here, `order` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from mapper import shipped
from mapper.errors import InputError, did_you_mean, expect
from mapper.search.constraints import Constraints, Factors, Limit, Prefix, Residence, Rule, Utilization

ARGUMENT = "constraints"
"""The argument of `mapper.search` that errors name where no option is at hand."""

_AXES = {"X": "x", "Y": "y"}
_LISTS = ("order", "keeps", "bypasses")
_SHARE = "min_utilization"
_NAME = re.compile(r"[A-Za-z_][\w.\-]*", re.ASCII)
_DIMENSION = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_FACTOR = re.compile(
    r"(?P<dimension>[A-Za-z_]\w*?)"
    r"(?:\s*=\s*(?P<low>\d+)\.\.(?P<high>\d+)|\s*=\s*(?P<listed>\d+(?:,\d+)*)"
    r"|\s*<=\s*(?P<most>\d+)|\s*>=\s*(?P<least>\d+)|(?P<fixed>\d+))(?!\S|\s*[<>=])",
    re.ASCII,
)
_WORD = re.compile(r"\S+")
_DIGITS = 18
"""A factor of more digits leaves 64 bits, and no dimension is that large."""
_WIDTH = 80
"""Characters of a text that errors quote."""

_FORMS = "write GLB: C<=8 K=16, GLB X: K=16, GLB order: N K, GLB keeps: W or min_utilization: 0.85"
_FACTOR_HINT = "write C=4, C<=8, C>=2, C=2..8 or C=1,2,4"
_SHARE_HINT = "write 0.85 for 85 %"


def parse_constraints(*texts: str, option: str = ARGUMENT) -> Constraints:
    """Constraints from one text or several; `option` is named in errors.

    Raises `InputError` with the text and the nearest valid form, or with the two texts that contradict.
    """
    return Constraints(tuple(rule for text in texts for rule in read_rules(text, option)))


def constraints_from(given: object) -> Constraints:
    """What `mapper.search` takes: `Constraints`, a text, the path of a YAML file, or a list of texts and paths."""
    from mapper.search.constraint_file import load_constraints

    if isinstance(given, Constraints):
        return given
    if isinstance(given, list | tuple):
        return Constraints(tuple(rule for each in given for rule in constraints_from(each).rules))
    expect(given, (str, Path), ARGUMENT, "text such as 'GLB: C<=8 | X: K=16', a list of such texts, or a path")
    text = str(given)
    if isinstance(given, Path) or text.lower().endswith((".yaml", ".yml")) or shipped.is_file(text):
        return load_constraints(text)
    return parse_constraints(text)


def read_rules(text: str, option: str = ARGUMENT) -> list[Rule]:
    """The rules of one text; `option` is named in errors."""
    expect(text, str, ARGUMENT, _FORMS)
    shown = " ".join(text.split())
    source = f"{option} '{shown if len(shown) <= _WIDTH else shown[: _WIDTH - 3] + '...'}'"
    rules: list[Rule] = []
    level: str | None = None
    for part in text.split("|"):
        head, colon, body = part.partition(":")
        if not colon:
            hint = "--constraints reads a file" if text.lower().endswith((".yaml", ".yml")) else _FORMS
            raise InputError(f"'{part.strip()}' is not a constraint", source, hint)
        if head.strip() == _SHARE:
            rules.append(read_share(body.strip(), source))
            continue
        level, word = _read_head(head, level, source)
        rules += read_body(level, word, body, source)
    if not rules:
        raise InputError("nothing is constrained", source, _FORMS)
    return rules


def read_body(level: str, word: str, body: str, source: str) -> Iterator[Rule]:
    """What stands behind the colon; `word` is empty, an axis, or one of order, keeps and bypasses."""
    if word == "order":
        yield Prefix(level, _read_names(body, "a dimension", "N K", source), (source,))
    elif word in _LISTS:
        for tensor in _read_names(body, "a tensor", "W", source):
            yield Residence(level, tensor, word == "keeps", (source,))
    else:
        for dimension, factors in read_factors(body, source):
            yield Limit(level, _AXES.get(word, "t"), dimension, factors, (source,))


def read_factors(body: str, source: str) -> Iterator[tuple[str, Factors]]:
    """Dimensions and the factors that each may have."""
    position = 0
    while word := _WORD.search(body, position):
        match = _FACTOR.match(body, word.start())
        if not match:
            hint = "a part starts behind a bar: '|'" if ":" in body else _factor_hint(word[0])
            raise InputError(f"'{word[0]}' is not a factor of a dimension", source, hint)
        yield match["dimension"], _factors(match, source)
        position = match.end()


def read_share(given: str | float, source: str) -> Utilization:
    """The least utilization, checked."""
    try:
        share = float(given)
    except ValueError:
        raise InputError(f"{_SHARE}: '{given}' is not a number", source, _SHARE_HINT) from None
    if not 0 <= share <= 1:
        raise InputError(f"{_SHARE}: {given} is not between 0 and 1", source, _SHARE_HINT)
    return Utilization(share, (source,))


def check_level(name: str, source: str) -> None:
    """Refuse what is no name of a level."""
    if not _NAME.fullmatch(name):
        bracket = name.partition("[")
        hint = f"write {bracket[0]} keeps: {bracket[2].rstrip(']')}" if bracket[1] else _FORMS
        raise InputError(f"'{name}' is not the name of a level", source, hint)


def _read_head(head: str, left: str | None, source: str) -> tuple[str, str]:
    """Level and word of `GLB`, `GLB X`, `GLB order`; behind a bar of `X` or `order` alone."""
    words = head.split()
    if words and (words[0] in _AXES or words[0] in _LISTS):
        if left is None:
            raise InputError(f"'{head.strip()}' has no level on its left", source, f"write GLB {head.strip()}: ...")
        words.insert(0, left)
    if not 1 <= len(words) <= 2:
        raise InputError(f"'{head.strip()}' is not a level, an axis or min_utilization", source, _FORMS)
    check_level(words[0], source)
    word = words[1] if len(words) == 2 else ""
    if word and word not in _AXES and word not in _LISTS:
        hint = did_you_mean(word, (*_AXES, *_LISTS))
        raise InputError(f"'{word}' is nothing of level {words[0]} that can be constrained", source, hint)
    return words[0], word


def _read_names(body: str, what: str, example: str, source: str) -> tuple[str, ...]:
    """Names between spaces or commas, each once."""
    names = body.replace(",", " ").split()
    if not names:
        raise InputError(f"{what} is missing behind the colon", source, f"such as {example}")
    for name in names:
        if not _DIMENSION.fullmatch(name):
            raise InputError(f"'{name}' is not the name of {what}", source, f"names between spaces, such as {example}")
        if names.count(name) > 1:
            raise InputError(f"{name} stands twice", source, "name it once")
    return tuple(names)


def _factors(match: re.Match[str], source: str) -> Factors:
    groups = {key: text for key, text in match.groupdict().items() if text is not None}
    dimension = groups.pop("dimension")
    values = {key: [_number(dimension, part, source) for part in text.split(",")] for key, text in groups.items()}
    if "low" in values:
        (low,), (high,) = values["low"], values["high"]
        if high < low:
            raise InputError(f"{dimension}={low}..{high} holds no factor", source, f"write {dimension}={high}..{low}")
        return Factors(low, high)
    if "most" in values:
        return Factors(1, values["most"][0])
    if "least" in values:
        return Factors(values["least"][0])
    return Factors.of(*values.get("listed", []), *values.get("fixed", []))


def _number(dimension: str, digits: str, source: str) -> int:
    if len(digits) > _DIGITS:
        raise InputError(f"a factor of {dimension} has {len(digits)} digits", source, f"at most {_DIGITS}")
    if int(digits) < 1:
        raise InputError(f"factor {int(digits)} of {dimension} is not positive", source, "1 stands for no loop")
    return int(digits)


def _factor_hint(word: str) -> str:
    strict = re.match(r"(\w+)([<>])(\d+)$", word, re.ASCII)
    if strict and len(strict[3]) <= _DIGITS:
        near = int(strict[3]) + (1 if strict[2] == ">" else -1)
        return f"write {strict[1]}{strict[2]}={max(near, 1)}"
    return _FACTOR_HINT
