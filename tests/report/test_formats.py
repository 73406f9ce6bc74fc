"""Tables as text: exact numbers, LF, and no character that a format would take for its own."""

from __future__ import annotations

import io
import json

import pytest

from mapper.report.formats import FORMATS, Table, file_name

TABLE = Table(
    "mappings",
    (
        {"layer": "a_1", "mapping": "DRAM: K4 | RF: C2", "macs": 281_474_976_710_656, "share": 0.1 + 0.2, "none": None},
        {"layer": "b,c", "mapping": "DRAM:", "macs": 2**70, "share": 1e300, "none": True},
    ),
    on_page=("layer", "mapping", "macs"),
)


def test_csv_is_exact() -> None:
    assert FORMATS["csv"](TABLE).decode() == (
        "layer,mapping,macs,share,none\n"
        "a_1,DRAM: K4 | RF: C2,281474976710656,0.30000000000000004,\n"
        '"b,c",DRAM:,1180591620717411303424,1e+300,True\n'
    )


def test_json_is_exact() -> None:
    assert json.loads(FORMATS["json"](TABLE)) == list(TABLE.rows)
    assert FORMATS["json"](TABLE).count(b"\n") == 4


def test_markdown_escapes_its_bars() -> None:
    assert FORMATS["md"](TABLE).decode() == (
        "| layer | mapping | macs |\n| --- | --- | --- |\n"
        "| a_1 | DRAM: K4 \\| RF: C2 | 281474976710656 |\n| b,c | DRAM: | 1180591620717411303424 |\n"
    )


def test_latex_escapes_its_specials() -> None:
    text = FORMATS["latex"](TABLE).decode()
    assert r"a\_1 & DRAM: K4 | RF: C2 & 281474976710656 \\" in text
    assert text.startswith("\\begin{longtable}{lll}\n\\toprule\n")
    assert text.endswith("\\bottomrule\n\\end{longtable}\n")


def test_parquet_keeps_integers_of_any_size() -> None:
    pytest.importorskip("pyarrow")
    import pandas as pd

    frame = pd.read_parquet(io.BytesIO(FORMATS["parquet"](TABLE)))
    assert [int(value) for value in frame["macs"]] == [281_474_976_710_656, 2**70]


def test_files_are_named_as_others_expect() -> None:
    assert [file_name(TABLE, form) for form in ("csv", "latex", "md")] == [
        "mappings.csv",
        "mappings.tex",
        "mappings.md",
    ]
