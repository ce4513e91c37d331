#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/site/make_site.py: every link of every page leads somewhere, terms lead to the glossary, code is left alone."""
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))
import make_site  # noqa: E402

WEFT = sys.argv.pop()


class Pages(unittest.TestCase):
    def test_every_link_leads_to_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            site = make_site.Site(pathlib.Path(folder), WEFT)
            site.write()
            links = 0
            for page in site.pages.rglob("*.md"):
                def look(prose, page=page):
                    nonlocal links
                    for _, target, _ in make_site.LINK.findall(prose):
                        if "://" not in target:
                            links += 1
                            self.assertTrue((page.parent / target).is_file(), f"{page}: {target}")
                    return prose
                make_site.outside_code(page.read_text(), look)
            self.assertGreater(links, 400)
            shown = (site.pages / "measure/harness.h.md").read_text()
            self.assertIn((ROOT / "measure/harness.h").read_text(), shown)
            self.assertIn("![The ladder of scan](ladder.svg)", (site.pages / "kernels/scan/README.md").read_text())
            self.assertIn("</svg>", (site.pages / "kernels/scan/ladder.svg").read_text())

    def test_a_missing_file_ends_it(self):
        with tempfile.TemporaryDirectory() as folder:
            site = make_site.Site(pathlib.Path(folder), WEFT)
            site.texts["docs/onnx.md"] = "See [this](no-such-file.md).\n"
            with self.assertRaisesRegex(SystemExit, "docs/onnx.md: there is no no-such-file.md"):
                site.write()

    def test_terms(self):
        text = ("# The warp\n\nA warp has lanes, and a warp waits.\n\n    a warp in code\n\n```sh\nwarp\n```\n\n"
                "| warp | tile |\n\nThe SMs of a `warp`, an SM, and sm_90.\nAn SM.\n")
        found = make_site.with_terms(text, ["Warp", "SM"], "kernels/scan/README.md")
        self.assertEqual(found, text.replace("A warp has", "A [warp](../../docs/glossary.md#warp) has")
                         .replace("\nAn SM.", "\nAn [SM](../../docs/glossary.md#sm)."))

    def test_every_term_has_a_place_of_its_own(self):
        glossary = (ROOT / "docs/glossary.md").read_text()
        terms = make_site.terms_of(glossary)
        self.assertGreater(len(terms), 30)
        anchors = re.findall(r"\{ #([\w-]+) \}$", make_site.with_anchors(glossary), flags=re.M)
        self.assertEqual(anchors, [make_site.anchor_of(term) for term in terms])
        self.assertEqual(len(set(anchors)), len(terms))


if __name__ == "__main__":
    unittest.main()
