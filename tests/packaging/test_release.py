#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""packaging/release.py: checksums that sha256sum takes, an SBOM of all that is inside, notes of this version alone."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
import release  # noqa: E402

CHANGES = """# Changelog

## Unreleased

- Something new.

## 0.2.0 (2027-01-01)

- Older.

## 0.1.0

- Oldest.
"""


class Release(unittest.TestCase):
    def test_notes_are_those_of_the_version(self):
        self.assertEqual(release.notes(CHANGES, "0.2.0"), "# Weft 0.2.0\n\n- Older.\n")
        self.assertEqual(release.notes(CHANGES, "0.3.0"), "# Weft 0.3.0\n\n- Something new.\n")
        self.assertEqual(release.notes("# Changelog\n", "0.3.0"), "")

    def test_checksums_are_those_of_sha256sum(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "weft-1.deb"
            path.write_bytes(b"content")
            (pathlib.Path(folder) / "SHA256SUMS").write_text(release.checksums([path]))
            done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=folder, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, "weft-1.deb: OK\n"))

    def test_the_sbom_names_every_library_once(self):
        inside = release.libraries("====\n== libfmt9 9.1.0+ds1-2\n====\ntext\n== not a head\n====\n== libgcc-s1 12.2.0\n====\n")
        self.assertEqual(inside, [("libfmt9", "9.1.0+ds1-2"), ("libgcc-s1", "12.2.0")])
        document = release.sbom("0.1.0", [], inside, 1767323045)
        self.assertEqual([package["name"] for package in document["packages"]], ["weft", "libfmt9", "libgcc-s1"])
        self.assertEqual(document["creationInfo"]["created"], "2026-01-02T03:04:05Z")
        known = {package["SPDXID"] for package in document["packages"]} | {"SPDXRef-DOCUMENT"}
        self.assertTrue(all({one["spdxElementId"], one["relatedSpdxElement"]} <= known for one in document["relationships"]))
        self.assertEqual(json.dumps(document), json.dumps(release.sbom("0.1.0", [], inside, 1767323045)))

    def test_packages_of_another_version_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            call = [sys.executable, release.__file__, folder, "--program", "/bin/true"]
            for found in ("none", "weft_9.9.9_amd64.deb"):
                if found != "none":
                    (pathlib.Path(folder) / found).write_bytes(b"")
                done = subprocess.run(call, capture_output=True, text=True)
                self.assertEqual(done.returncode, 1)
                self.assertIn(f"expected packages of version {release.version()} in {folder}, found {found}", done.stderr)
                self.assertEqual(os.listdir(folder), [] if found == "none" else [found])


if __name__ == "__main__":
    unittest.main()
