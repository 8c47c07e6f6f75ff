#!/usr/bin/env python3
"""Writes what package managers need to build a release: recipes.py --url URL --homepage URL [-o FOLDER] [REVISION]

FOLDER gets pagoda-VERSION.tar.gz, the sources of REVISION (HEAD), and the recipes of vcpkg, conda-forge and Homebrew that
build them: packaging/recipes with the version, the hashes of the tarball, and URL, from which it will be served.
"""
import argparse
import hashlib
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent


def tarball(revision, folder):
    """The sources of a revision as pagoda-VERSION.tar.gz: (version, path)."""
    lists = subprocess.run(["git", "-C", SOURCE, "show", f"{revision}:CMakeLists.txt"], check=True, capture_output=True,
                           text=True).stdout
    version = re.search(r"project\(pagoda VERSION ([0-9.]+)", lists)[1]
    path = folder / f"pagoda-{version}.tar.gz"
    # A name and a time that gzip would store would give each archive another hash.
    tar = subprocess.run(["git", "-C", SOURCE, "archive", f"--prefix=pagoda-{version}/", revision], check=True,
                         capture_output=True).stdout
    path.write_bytes(subprocess.run(["gzip", "-n"], input=tar, check=True, capture_output=True).stdout)
    return version, path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="of the tarball, once it is published")
    parser.add_argument("--homepage", required=True)
    parser.add_argument("-o", dest="folder", type=pathlib.Path, default=SOURCE / "build/recipes")
    parser.add_argument("revision", nargs="?", default="HEAD")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    version, path = tarball(options.revision, options.folder)
    content = path.read_bytes()
    values = {
        "VERSION": version,
        "URL": options.url,
        "HOMEPAGE": options.homepage,
        "SHA256": hashlib.sha256(content).hexdigest(),
        "SHA512": hashlib.sha512(content).hexdigest(),
    }
    for template in sorted((HERE / "recipes").rglob("*.in")):
        recipe = options.folder / template.relative_to(HERE / "recipes").with_suffix("")
        recipe.parent.mkdir(exist_ok=True)
        recipe.write_text(re.sub(r"@([A-Z0-9]+)@", lambda match: values[match[1]], template.read_text()))
        print(recipe)
    print(path)


if __name__ == "__main__":
    main()
