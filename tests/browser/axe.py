"""axe-core, which looks for what keeps people from using a page: fetched once, as its makers publish it.

python -m tests.browser.axe
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path
from urllib.request import urlopen

AXE = Path(".cache/axe-core/axe.min.js")
_VERSION = "4.10.3"
_ADDRESS = f"https://registry.npmjs.org/axe-core/-/axe-core-{_VERSION}.tgz"
_SHA256 = "0f2b4d7dcdf7d1219df8d1959ad68e565f51d14c3f0d88bb71cd59abeb956292"


def main() -> None:
    if AXE.is_file():
        return
    print(f"Fetching axe-core {_VERSION} into {AXE.parent}")
    with urlopen(_ADDRESS, timeout=60) as answer:
        content = answer.read()
    found = hashlib.sha256(content).hexdigest()
    if found != _SHA256:
        raise SystemExit(f"{_ADDRESS}: expected the SHA-256 {_SHA256}, got {found}")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        file = archive.extractfile("package/axe.min.js")
        assert file is not None
        script = file.read()
    AXE.parent.mkdir(parents=True, exist_ok=True)
    AXE.write_bytes(script)


if __name__ == "__main__":
    main()
