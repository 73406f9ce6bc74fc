"""A page as a tree, without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset(("br", "hr", "input", "link", "meta"))


@dataclass
class Node:
    """An element; `parts` are its texts and elements in order."""

    tag: str
    attributes: dict[str, str]
    parts: list[Node | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    def all(self, tag: str | None = None, **attributes: str) -> Iterator[Node]:
        """Elements inside, in the order of the page; `class_="a"` wants a among the classes."""
        for part in self.parts:
            if isinstance(part, Node):
                if (tag is None or part.tag == tag) and all(part.has(k, v) for k, v in attributes.items()):
                    yield part
                yield from part.all(tag, **attributes)

    def one(self, tag: str | None = None, **attributes: str) -> Node:
        found = list(self.all(tag, **attributes))
        assert len(found) == 1, (tag, attributes, len(found))
        return found[0]

    def has(self, key: str, value: str) -> bool:
        given = self.attributes.get(key.rstrip("_").replace("_", "-"))
        return given is not None and (value in given.split() if key == "class_" else value == given)


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Node("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {key: value or "" for key, value in attrs})
        self.open[-1].parts.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].parts.append(Node(tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        node = self.open.pop()
        assert node.tag == tag, f"</{tag}> closes <{node.tag}>"

    def handle_data(self, data: str) -> None:
        self.open[-1].parts.append(data)


def parse(page: bytes | str) -> Node:
    """The document. Every element but the void ones must be closed where it was opened."""
    builder = _Builder()
    builder.feed(page if isinstance(page, str) else page.decode())
    builder.close()
    assert len(builder.open) == 1, [node.tag for node in builder.open]
    return builder.open[0]
