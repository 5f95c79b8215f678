"""What a draw chose is what each pass begins with."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

import compile_choices  # noqa: E402
import protocol  # noqa: E402
import session  # noqa: E402
import torch_session  # noqa: E402


def new_process() -> None:
    compile_choices.restore.cache_clear()


def test_each_process_begins_with_the_first_choices(tmp_path: Path) -> None:
    folder = str(tmp_path / "1")
    first, second = tmp_path / "1/ab/k.best_config", tmp_path / "1/cd/l.best_config"
    for file in (first, second):
        file.parent.mkdir(parents=True)
    compile_choices.restore(folder)  # the draw: there is nothing yet
    first.write_text("drawn")
    (first.parent / "k.py").write_text("code")
    compile_choices.keep(folder, "a case")
    first.write_text("another case of the draw tuned it anew")
    second.write_text("drawn later")
    compile_choices.keep(folder, "a case")
    for _ in range(2):  # passes
        new_process()
        compile_choices.restore(folder)
        assert (first.read_text(), second.read_text()) == ("drawn", "drawn later")
        first.write_text("tuned anew")
        compile_choices.restore(folder)  # a second case of the process
        assert first.read_text() == "tuned anew"
        compile_choices.keep(folder, "a case")
    assert len(list(Path(folder).rglob("*.best_config"))) == 4
    new_process()


def test_a_case_that_is_compiled_begins_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = []
    monkeypatch.setattr(compile_choices, "restore", lambda folder: called.append(folder))
    monkeypatch.setattr(compile_choices, "keep", lambda folder, _id: called.append(folder))
    sizes: list[str] = []
    monkeypatch.setattr(
        torch_session, "use_compile_cache", lambda _folder, size, **_keys: sizes.append(size)
    )
    monkeypatch.setattr(session.Session, "_expect_compiler", lambda _self: None)
    folder, of = str(tmp_path), session.Session("cpu")
    for variant, expected in ("eager", []), ("compile", [folder, folder]):
        spec = protocol.CaseSpec("c", "softmax", "pytorch", "cpu", variant, "f32", {"rows": 8})
        request = protocol.OpenRequest(spec, 1, compile_cache=folder)
        of.prepare(request)
        of.built(request)
        assert called == expected
    of._device.kind = "cuda"
    of.prepare(request)
    assert sizes == ["", '{"rows": 8}']


def test_a_folder_that_is_not_there_yet_has_no_choices(tmp_path: Path) -> None:
    compile_choices.restore(str(tmp_path / "none"))
    compile_choices.keep(str(tmp_path / "none"), "a case")
    assert list(tmp_path.iterdir()) == []
    new_process()


def test_a_case_is_compiled_once_it_was_open(tmp_path: Path) -> None:
    assert not compile_choices.are_made(str(tmp_path), "a case")
    compile_choices.keep(str(tmp_path), "a case")
    assert compile_choices.are_made(str(tmp_path), "a case")
    assert not compile_choices.are_made(str(tmp_path), "another case")
