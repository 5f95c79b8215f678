"""What several files of tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import make_root


@pytest.fixture(scope="session")
def project_without_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project's folder in which only the synthetic set is found."""
    top = tmp_path_factory.mktemp("without") / "inside"
    top.mkdir()
    return make_root(top / "project")
