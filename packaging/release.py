#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes what a release has besides its packages, into the folder that packaging/build.sh has filled.

    packaging/release.py dist --program build/package/weft

SHA256SUMS        the checksum of each package, as sha256sum -c reads it
sbom.spdx.json    what is inside: Weft, and each Debian package that licences.sh names, by SPDX 2.3
NOTES.md          the changes of this version, from CHANGELOG.md

The version is that of CMakeLists.txt. The time in the SBOM is SOURCE_DATE_EPOCH, or that of the last commit, so that two runs
write the same bytes. Exits with 1 when a package has another version, or when CHANGELOG.md has no section for this one.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def version():
    return re.search(r"^project\(weft VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), flags=re.M).group(1)


def notes(changelog, wanted):
    """The section of a version, or before its release the one that is headed Unreleased; "" without either."""
    sections = re.split(r"^## ", changelog, flags=re.M)[1:]
    for title in (wanted, "Unreleased"):
        for section in sections:
            head, _, body = section.partition("\n")
            if head.strip("[] ").startswith(title):
                return f"# Weft {wanted}\n\n{body.strip()}\n"
    return ""


def checksums(packages):
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in packages)


def libraries(licences):
    """[(package of Debian, version)] of what licences.sh has printed."""
    return re.findall(r"^== (\S+) (\S+)$", licences, flags=re.M)


def sbom(wanted, packages, inside, seconds):
    """SPDX 2.3, which says of Weft and of each library: name, version, where from."""
    created = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    digest = hashlib.sha256(checksums(packages).encode()).hexdigest()

    def package(name, its_version, licence, **more):
        return {"name": name, "SPDXID": "SPDXRef-" + re.sub(r"[^\w.-]", "-", name), "versionInfo": its_version,
                "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": licence,
                "licenseDeclared": licence, "copyrightText": "NOASSERTION"} | more

    def from_debian(name, its_version):
        place = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                 "referenceLocator": f"pkg:deb/debian/{name}@{its_version}?arch=amd64"}
        return package(name, its_version, "NOASSERTION", externalRefs=[place])

    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"weft-{wanted}",
            "documentNamespace": f"https://spdx.org/spdxdocs/weft-{wanted}-{digest}",
            "creationInfo": {"created": created, "creators": ["Tool: packaging/release.py"]},
            "packages": [package("weft", wanted, "MIT")] + [from_debian(*one) for one in inside],
            "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                               "relatedSpdxElement": "SPDXRef-weft"}] +
                             [{"spdxElementId": "SPDXRef-weft", "relationshipType": "CONTAINS",
                               "relatedSpdxElement": "SPDXRef-" + re.sub(r"[^\w.-]", "-", name)} for name, _ in inside]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", required=True, help="the weft that the packages have, for licences.sh")
    wanted = parser.parse_args()
    now, text = version(), notes((ROOT / "CHANGELOG.md").read_text(), version())
    packages = sorted(path for path in wanted.folder.glob("weft*") if path.suffix in (".xz", ".deb", ".whl"))
    strange = [path.name for path in packages if not re.match(rf"weft[-_]{re.escape(now)}[-_]", path.name)]
    if not packages or strange:
        sys.exit(f"release.py: error: expected packages of version {now} in {wanted.folder}, found {', '.join(strange) or 'none'}")
    if not text:
        sys.exit(f"release.py: error: CHANGELOG.md has no section for {now}")
    licences = subprocess.run([ROOT / "packaging/licences.sh", wanted.program], check=True, capture_output=True, text=True).stdout
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or subprocess.run(
        ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"], check=True, capture_output=True, text=True).stdout
    (wanted.folder / "SHA256SUMS").write_text(checksums(packages))
    (wanted.folder / "sbom.spdx.json").write_text(
        json.dumps(sbom(now, packages, libraries(licences), int(seconds)), indent=1) + "\n")
    (wanted.folder / "NOTES.md").write_text(text)


if __name__ == "__main__":
    main()
