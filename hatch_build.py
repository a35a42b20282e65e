"""The page that a package index shows: the README, without what only works inside the repository.

Input: README.md. Output: the same text as the package's description. Links and pictures of the repository are
relative there, and an index has no such files. With an address under `Source` in [project.urls] they become
absolute; without one a link is its text and a picture is left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

try:
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ImportError:  # the tests rewrite the page without building a package
    MetadataHookInterface = object

PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?:)[^)]+\)\n+", re.MULTILINE)
LINK = re.compile(r"(!?)\[([^\]]+)\]\((?!https?:|#)([^)]+)\)")


def described(text: str, source: str | None) -> str:
    """Return the README for an index: links absolute where the source has an address, and text elsewhere."""
    if source is None:
        return LINK.sub(lambda link: link[2], PICTURE.sub("", text))
    return LINK.sub(lambda link: f"{link[1]}[{link[2]}]({_address(source, link)})", text)


def _address(source: str, link: re.Match[str]) -> str:
    """Return where a file of the repository is shown, or a picture is found as it is."""
    return f"{source.rstrip('/')}/{'raw' if link[1] else 'blob'}/HEAD/{link[3]}"


class ReadmeHook(MetadataHookInterface):
    """Give hatchling the description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description of the package."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {"content-type": "text/markdown", "text": described(text, source)}
