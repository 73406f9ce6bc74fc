"""Files that ship are found in a checkout and after an installation."""

from pathlib import Path

import pytest

from mapper import shipped
from mapper.errors import InputError


def test_a_checkout_finds_its_own_folder() -> None:
    assert shipped.find("layer_zoo", "resnet18") == Path(__file__).parents[1] / "layer_zoo" / "resnet18.yaml"


def test_an_installation_finds_the_shared_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "mapper" / "shipped.py"
    monkeypatch.setattr(shipped, "__file__", str(package))
    monkeypatch.setattr("sysconfig.get_path", lambda *_: str(tmp_path))
    shared = tmp_path / "share" / "mapper" / "layer_zoo"
    shared.mkdir(parents=True)
    (shared / "toy.yaml").touch()
    assert shipped.names("layer_zoo") == ("toy",)
    assert shipped.find("layer_zoo", "toy") == shared / "toy.yaml"


def test_a_name_that_does_not_ship_brings_the_nearest() -> None:
    with pytest.raises(InputError) as caught:
        shipped.find("layer_zoo", "resnet19")
    assert str(caught.value) == "no network 'resnet19' ships (did you mean 'resnet18'?)"


def test_a_broken_installation_says_where_it_looked() -> None:
    with pytest.raises(InputError, match=r"the files of nothing are not installed: looked in .*share/mapper/nothing"):
        shipped.names("nothing")
