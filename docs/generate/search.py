"""A hook of mkdocs: the sections of all pages for search.html, and the repository's address, if
the environment has it.

The index is a script that sets a constant, since a page opened from the disk may load no JSON.
"""

import json
import os
from pathlib import Path
from typing import Any

from mkdocs.contrib.search.search_index import ContentParser
from mkdocs.utils import write_file

VARIABLE = "REPOSITORY"
"""Word of pages that stands for the address in BNNBENCH_REPOSITORY."""

_sections: list[dict[str, str]] = []


def on_config(config: Any, **_: Any) -> Any:
    """Return the configuration with the repository's address, if it is known."""
    config.repo_url = os.environ.get("BNNBENCH_REPOSITORY", "")
    _sections.clear()
    return config


def on_page_markdown(markdown: str, config: Any, **_: Any) -> str:
    """Return a page's Markdown with the repository's address, if it is known."""
    return markdown.replace(f"git clone {VARIABLE}", f"git clone {config.repo_url or VARIABLE}")


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Add the sections of a page to the index, and return the page unchanged."""
    parser = ContentParser()
    parser.feed(html)
    parser.close()
    for section in parser.data:
        title = "".join(section.title) or page.title
        place = f"{page.url}#{section.id}" if section.id else page.url
        text = " ".join(" ".join(section.text).split())
        one = {"page": page.title, "title": title, "location": place, "text": text}
        _sections.append({name: str(value) for name, value in one.items()})
    return html


def on_post_build(config: Any, **_: Any) -> None:
    """Write the index next to the pages."""
    text = f"const SECTIONS = {json.dumps(_sections, ensure_ascii=False)};\n"
    write_file(text.encode(), str(Path(config.site_dir) / "search_index.js"))
