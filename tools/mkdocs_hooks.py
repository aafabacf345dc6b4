"""Hooks of mkdocs: pages of the site from outside docs/, and links that lead out of it.

The README is the first page, so that the site and the repository open with the same words. The command-line reference
is made from the commands themselves.
"""

import posixpath
import re
from pathlib import Path

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from typer.cli import get_docs_for_click

from plate_nets.cli import app

ROOT = Path(__file__).parents[1]
ELSEWHERE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "plate_nets/weights/MODEL_CARD.md": "explanation/model-card.md",
    "plate_nets/events/plate_event_1.json": "reference/plate_event_1.json",
}
"""Files of the project, and their places on the site."""
SOURCES = {uri: name for name, uri in ELSEWHERE.items()}
COMMANDS = "<!-- commands -->"
LINK = re.compile(r"(!?)\[([^]]*)\]\((?!\w+:|#)([^)#\s]*)(#[^)\s]*)?\)")


def command_line() -> str:
    """The help of every command of `plates`."""
    group = typer.main.get_command(app)
    return get_docs_for_click(obj=group, ctx=typer.Context(group, info_name="plates"), indent=1, name="plates")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside docs/."""
    for name, uri in ELSEWHERE.items():
        files.append(File.generated(config, uri, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links to files of the project into links to pages; a file that is not on the site is only named."""
    here = page.file.src_uri
    folder = posixpath.dirname(SOURCES.get(here, f"docs/{here}"))

    def link(match: re.Match[str]) -> str:
        image, text, path, anchor = match.groups("")
        name = posixpath.normpath(posixpath.join(folder, path))
        uri = ELSEWHERE.get(name, name.removeprefix("docs/"))
        if uri == name and (ROOT / name).exists():
            return text
        return f"{image}[{text}]({posixpath.relpath(uri, posixpath.dirname(here) or '.')}{anchor})"

    markdown = LINK.sub(link, markdown)
    return markdown.replace(COMMANDS, command_line()) if COMMANDS in markdown else markdown
