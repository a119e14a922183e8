"""Hooks of the documentation site.

- Files outside ``docs``, such as ``results/*.md``, become pages of the site, and links to them are rewritten.
- Formulas become MathML, which needs no script.
- A page that would load anything from another host stops the build.
"""

from __future__ import annotations

import posixpath
import re
from html import unescape
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, InclusionLevel

ROOT = Path(__file__).parents[1]
OUTSIDE = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "SECURITY.md",
    "examples/demo.py",
    "examples/data/README.md",
    "recipes/*.yaml",
    "results/*.json",
    "results/*.md",
    "results/*.svg",
    "treeformer/*/models/*/README.md",
)

_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_CODE = re.compile(r"^(```.*?^```|(?: {4}[^\n]*\n)+)", re.DOTALL | re.MULTILINE)
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
_LOADED = re.compile(r"<(?:script|img|link|iframe|source|video|audio|object|embed|use)\b[^>]*>|url\([^)]*\)")
_OTHER_HOST = re.compile(r"""(?:src|href|srcset|data)\s*=\s*["']?(?:https?:)?//|url\(["']?(?:https?:)?//""")


def on_files(files: Any, config: Any) -> Any:
    """Add the files outside ``docs`` to the site."""
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            included = InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, name, abs_src_path=str(path), inclusion=included))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """The page with its links pointing to where files are in the site."""
    name = page.file.src_uri
    source = name if page.file.generated_by else f"docs/{name}"
    return with_site_links(markdown, source, name)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """The page with its formulas as MathML."""
    return _FORMULA.sub(
        lambda match: convert(unescape(match[2]), display="block" if match[1] == "div" else "inline"), html
    )


def on_post_build(config: Any) -> None:
    """Stop the build if a page loads anything from another host."""
    for path in sorted(Path(config.site_dir).rglob("*")):
        if path.suffix in (".html", ".css", ".svg"):
            for loaded in from_other_hosts(path.read_text(encoding="utf-8")):
                raise PluginError(f"{path}: loads {loaded} from another host")


def with_site_links(markdown: str, source: str, page: str) -> str:
    """The Markdown of ``source`` with its links rewritten for ``page`` of the site; code stays as it is."""
    parts = _CODE.split(markdown)
    parts[::2] = [
        _LINK.sub(lambda link: link[1] + _site_link(link[2], source, page) + link[3], part)
        for part in parts[::2]
    ]
    return "".join(parts)


def _site_link(target: str, source: str, page: str) -> str:
    """The target of a link in ``source``, relative to ``page``; addresses and anchors stay as they are."""
    if re.match(r"[a-z]+:|[#/]", target):
        return target
    path, hash_sign, anchor = target.partition("#")
    place = posixpath.normpath(posixpath.join(posixpath.dirname(source), path)).removeprefix("docs/")
    return posixpath.relpath(place, posixpath.dirname(page) or ".") + hash_sign + anchor


def from_other_hosts(text: str) -> list[str]:
    """Tags and style rules that load something from another host; links to click do not count."""
    return [tag for tag in _LOADED.findall(text) if _OTHER_HOST.search(tag) and "canonical" not in tag]
