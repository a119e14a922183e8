"""axe-core, which looks for what keeps people from using a page: fetched once by npm, with its hash checked.

python -m tests.browser.axe
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

AXE = Path(".cache/axe-core/axe.min.js")
_PACKAGE = "axe-core@4.10.3"
_SHA256 = "0f2b4d7dcdf7d1219df8d1959ad68e565f51d14c3f0d88bb71cd59abeb956292"


def main() -> None:
    if AXE.is_file():
        return
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit(f"npm: not found; it fetches {_PACKAGE} (Debian, Ubuntu: apt install npm)")
    print(f"Fetching {_PACKAGE} into {AXE.parent}")
    with TemporaryDirectory() as folder:
        subprocess.run([npm, "pack", _PACKAGE, "--silent", "--pack-destination", folder], check=True)
        (package,) = Path(folder).glob("*.tgz")
        digest = hashlib.sha256(package.read_bytes()).hexdigest()
        if digest != _SHA256:
            raise SystemExit(f"{_PACKAGE}: expected the SHA-256 {_SHA256}, got {digest}")
        with tarfile.open(package) as archive:
            file = archive.extractfile("package/axe.min.js")
            assert file is not None
            AXE.parent.mkdir(parents=True, exist_ok=True)
            AXE.write_bytes(file.read())


if __name__ == "__main__":
    main()
