"""A hook of mkdocs: links from docs/ to the rest of the repository become the path they name, because the site holds docs/ alone."""
import re


def on_page_markdown(markdown, **_):
    def path(match):
        text, target = match.groups()
        target = target.split("#")[0]
        return f"`{target}`" if target.rsplit("/", 1)[-1] == text.strip("`") else f"{text} (`{target}`)"

    return re.sub(r"\[([^\]]+)\]\(\.\./([^)\s]+)\)", path, markdown)
