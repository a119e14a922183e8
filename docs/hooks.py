"""What mkdocs does here beside its own work.

Files of the repository outside ``docs`` become part of the site, and links to them lead there. A line
``<!-- README: TITLE -->`` becomes that section of the README. Formulas become MathML, which needs no script.
A page that would load anything from another host is an error.
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
    """Add what lies outside ``docs``."""
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            included = InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, name, abs_src_path=str(path), inclusion=included))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put sections of the README in, and make links lead to where files lie in the site."""
    name = page.file.src_uri
    source = name if page.file.generated_by else f"docs/{name}"
    markdown = with_site_links(markdown, source, name)
    return re.sub(
        r"^<!-- README: (.*) -->$",
        lambda match: with_site_links(readme_section(match[1]), "README.md", name),
        markdown,
        flags=re.MULTILINE,
    )


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Formulas as MathML."""
    return _FORMULA.sub(
        lambda match: convert(unescape(match[2]), display="block" if match[1] == "div" else "inline"), html
    )


def on_post_build(config: Any) -> None:
    """Refuse a site whose pages load anything from elsewhere."""
    for path in sorted(Path(config.site_dir).rglob("*")):
        if path.suffix in (".html", ".css", ".svg"):
            for loaded in from_other_hosts(path.read_text(encoding="utf-8")):
                raise PluginError(f"{path}: expected nothing from other hosts, found {loaded}")


def readme_section(title: str) -> str:
    """The section of the README with this title, without the title."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    if found is None:
        raise PluginError(f"README.md: expected a section {title!r}, which a page of the documentation shows")
    return found[1].strip()


def with_site_links(markdown: str, source: str, page: str) -> str:
    """The text of a file of the repository with its relative links as a page of the site has them."""
    parts = _CODE.split(markdown)
    parts[::2] = [
        _LINK.sub(lambda link: link[1] + _moved(link[2], source, page) + link[3], part) for part in parts[::2]
    ]
    return "".join(parts)


def _moved(target: str, source: str, page: str) -> str:
    if re.match(r"[a-z]+:|[#/]", target):
        return target
    path, hash_sign, anchor = target.partition("#")
    place = posixpath.normpath(posixpath.join(posixpath.dirname(source), path)).removeprefix("docs/")
    return posixpath.relpath(place, posixpath.dirname(page) or ".") + hash_sign + anchor


def from_other_hosts(text: str) -> list[str]:
    """What a page or style sheet loads from another host; links that one has to click are none of it."""
    return [
        found for found in _LOADED.findall(text) if _OTHER_HOST.search(found) and "canonical" not in found
    ]
