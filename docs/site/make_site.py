#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a site of all pages of this tree, for any host of files: no page needs anything from outside.

    pip install mkdocs-material
    docs/site/make_site.py --weft build/cpu/weft [--out build/site] [--gallery 4]

The pages are the tree's own. A link to a source leads to a page that shows it, and one to a folder to its README or its
files. Terms of docs/glossary.md lead there from their first use on a page. A page of a family gets the picture of its
ladder, and the gallery has pages of `weft kernel watch`, --gallery 0: none. mkdocs.yml holds the site's settings. Exits with
1 when mkdocs warns of anything, such as a broken link.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "tests"))
import house  # noqa: E402
import kernel_tables  # noqa: E402
import ladder_chart  # noqa: E402
import update_readme  # noqa: E402

LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"^(?:```.*?^```|    .*?$|<!--.*?-->)", re.M | re.S)
LANGUAGES = {".h": "cpp", ".cpp": "cpp", ".cu": "cpp", ".cuh": "cpp", ".py": "python", ".sh": "bash", ".cmake": "cmake",
             ".json": "json", ".net": "text", ".inc": "cpp", ".txt": "text", ".jsonl": "text"}
AS_THEY_ARE = {".png", ".svg", ".csv", ".jpg", ".ipynb"}
GALLERY = [("gemm/tiled", "32"), ("reduce/interleaved", "512"), ("scan/kogge_stone", "512"), ("histogram/privatized", "4096"),
           ("transpose/tiled", "64x64"), ("conv/tiled", None), ("nbody/shared_tiles", "256"), ("softmax/warp_per_row", None)]


class Site:
    def __init__(self, out, weft):
        self.pages, self.weft = out / "pages", weft
        self.files = {str(path.relative_to(ROOT)) for path in house.tracked(ROOT)}
        self.texts = {name: (ROOT / name).read_text() for name in self.files if name.endswith(".md")}
        self.wanted = {}  # pages that links ask for: what makes each

    def write(self):
        shutil.rmtree(self.pages, ignore_errors=True)
        terms = terms_of(self.texts["docs/glossary.md"])
        charts = self.charts()
        for name, text in self.texts.items():
            text = outside_code(text, lambda prose, page=name: LINK.sub(lambda m: self.link(page, m), prose))
            if name in charts:
                text = with_chart(text, charts[name])
            self.save(name, with_terms(text, terms, name) if name != "docs/glossary.md" else text)
        for name, make in self.wanted.items():
            self.save(name, make())

    def save(self, name, content):
        path = self.pages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content) if isinstance(content, str) else path.write_bytes(content)

    def link(self, page, match):
        """What the link is on the site."""
        before, target, after = match.groups()
        if "://" in target or target.startswith("mailto:"):
            return match.group(0)
        full = os.path.normpath(os.path.join(os.path.dirname(page), target))
        found = self.page_of(full)
        if found is None:
            sys.exit(f"make_site.py: error: {page}: there is no {target}")
        return before + os.path.relpath(found, os.path.dirname(page) or ".") + after

    def page_of(self, full):
        kind = pathlib.Path(full).suffix
        if full in self.texts:
            return full
        if full in self.files and kind in AS_THEY_ARE:
            self.wanted.setdefault(full, lambda: (ROOT / full).read_bytes())
            return full
        if full in self.files:
            self.wanted.setdefault(f"{full}.md", lambda: source_page(full))
            return f"{full}.md"
        if f"{full}/README.md" in self.texts:
            return f"{full}/README.md"
        below = sorted(name for name in self.files if name.startswith(f"{full}/"))
        if not below:
            return None
        self.wanted.setdefault(f"{full}/index.md", lambda: self.folder_page(full, below))
        return f"{full}/index.md"

    def folder_page(self, full, names):
        lines = [f"# {full}", ""]
        for name in names:
            here = name.removeprefix(f"{full}/")
            page = f"{name}.md" if f"{name}.md" in self.wanted else name if name in self.texts else None
            lines.append(f"- [`{here}`]({os.path.relpath(page, full)})" if page else f"- `{here}`")
        return "\n".join(lines) + "\n"

    def charts(self):
        """{page of a family: the picture of its first ladder}"""
        catalogue = update_readme.catalogue_of(self.weft)
        results = [kernel_tables.Results(path, catalogue) for path in update_readme.KERNELS]
        charts = {}
        for family, (beginning, *_) in kernel_tables.LADDERS.items():
            shown = kernel_tables.shown(results, family)
            picture = ladder_chart.chart(shown, family, beginning)
            page = f"kernels/{kernel_tables.FOLDERS.get(family, family)}/README.md"
            if picture and page in self.texts:
                self.save(os.path.join(os.path.dirname(page), "ladder.svg"), picture)
                charts[page] = f"![The ladder of {family}](ladder.svg)"
        return charts

    def gallery(self, count):
        """Pages of `weft kernel watch`, and one that leads to them."""
        lines = ["# Kernels, step by step", "", "Each page runs a kernel on a CPU, warp by warp, with every access to memory.",
                 "`weft kernel watch FAMILY/RUNG` makes such a page of any rung and any size.", ""]
        rungs = {f"{row['family']}/{row['variant']}": row for row in update_readme.catalogue_of(self.weft)}
        (self.pages / "gallery").mkdir(parents=True, exist_ok=True)
        for rung, size in GALLERY[:count]:
            file = rung.replace("/", "-") + ".html"
            size = ["--size", size] if size else []
            subprocess.run([self.weft, "kernel", "watch", rung, *size, "--out", self.pages / "gallery" / file], check=True,
                           stdout=subprocess.DEVNULL)
            lines.append(f"- [`{rung}`]({file}): {rungs[rung].get('summary', '')}")
        self.save("gallery/index.md", "\n".join(lines) + "\n")


def source_page(name):
    language = LANGUAGES.get(pathlib.Path(name).suffix, "text")
    return f"# {name}\n\n``````{language}\n{(ROOT / name).read_text()}\n``````\n"


def outside_code(text, change):
    """`change` made of each part that is no code."""
    parts, at = [], 0
    for match in FENCE.finditer(text):
        parts += [change(text[at:match.start()]), match.group(0)]
        at = match.end()
    return "".join(parts + [change(text[at:])])


def with_chart(text, chart):
    """The picture stands above the table of what was measured."""
    return re.sub(r"^(<!-- measured: begin)", chart + "\n\n\\1", text, count=1, flags=re.M)


def terms_of(glossary):
    return re.findall(r"^\*\*(.+)\*\*$", glossary, flags=re.M)


def anchor_of(term):
    return re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def with_terms(text, terms, page):
    """The first use of each term in a paragraph of prose leads to the glossary."""
    glossary = os.path.relpath("docs/glossary.md", os.path.dirname(page) or ".")
    left = {term: re.compile(rf"(?<![\w`/\[-]){re.escape(term)}s?(?![\w`/\]-])", 0 if term.isupper() else re.I) for term in terms}

    def change(prose):
        lines = []
        for line in prose.split("\n"):
            if line.startswith(("#", "|", "!", "<", ">")) or "[" in line or "`" in line:
                lines.append(line)
                continue
            for term in [term for term in left if left[term].search(line)]:
                line = left[term].sub(lambda m, at=anchor_of(term): f"[{m.group(0)}]({glossary}#{at})", line, count=1)
                del left[term]
                break  # one link in a line
            lines.append(line)
        return "\n".join(lines)

    return outside_code(text, change)


def with_anchors(glossary):
    return re.sub(r"^\*\*(.+)\*\*$", lambda m: f"**{m.group(1)}**{{ #{anchor_of(m.group(1))} }}", glossary, flags=re.M)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/site")
    parser.add_argument("--gallery", type=int, default=len(GALLERY), help="pages of kernels, 0 to %(default)s")
    wanted = parser.parse_args()
    out, weft = wanted.out.resolve(), str(pathlib.Path(wanted.weft).resolve())
    site = Site(out, weft)
    site.write()
    site.save("docs/glossary.md", with_anchors(site.texts["docs/glossary.md"]))
    site.gallery(wanted.gallery)
    site.save("extra.css", (ROOT / "docs/site/extra.css").read_text())
    shutil.copy(ROOT / "docs/site/mkdocs.yml", out / "mkdocs.yml")
    os.environ["NO_MKDOCS_2_WARNING"] = "1"
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--config-file", out / "mkdocs.yml",
                           "--site-dir", out / "html"])
    if done.returncode != 0:
        sys.exit(1)
    print(f"{out / 'html'}: {len(list((out / 'html').rglob('index.html')))} pages")


if __name__ == "__main__":
    main()
