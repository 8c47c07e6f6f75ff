#!/usr/bin/env python3
"""The package manager recipes, filled in for this revision: the tarball has the recipes' hashes, and its sources
configure with their options. recipes_test.py SOURCE. rattler-build renders conda-forge's recipe where this Python has it
(py-rattler-build), and ruby reads Homebrew's formula where it is installed; vcpkg's functions are replaced by stand-ins.
Nothing is built by a package manager.
"""
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

try:
    import rattler_build
except ImportError:
    rattler_build = None

SKIPPED = 77
# What vcpkg does in each step, up to the build.
VCPKG = """
function(vcpkg_download_distfile result)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "URLS;FILENAME;SHA512" "")
  file(DOWNLOAD ${arg_URLS} ${WORK}/${arg_FILENAME} EXPECTED_HASH SHA512=${arg_SHA512})
  set(${result} ${WORK}/${arg_FILENAME} PARENT_SCOPE)
endfunction()
function(vcpkg_extract_source_archive result)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHIVE" "")
  file(ARCHIVE_EXTRACT INPUT ${arg_ARCHIVE} DESTINATION ${WORK}/vcpkg)
  file(GLOB folder ${WORK}/vcpkg/*)
  set(${result} ${folder} PARENT_SCOPE)
endfunction()
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${WORK}/vcpkg-build -G Ninja ${arg_OPTIONS}
    -DCMAKE_INSTALL_PREFIX=${WORK}/vcpkg-prefix OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_install)
endfunction()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
  file(STRINGS ${WORK}/vcpkg-build/lib/cmake_install.cmake found REGEX "/${arg_CONFIG_PATH}\\"")
  if(NOT found)
    message(FATAL_ERROR "nothing is installed to ${arg_CONFIG_PATH}")
  endif()
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "FILE_LIST" "")
  if(NOT EXISTS ${arg_FILE_LIST})
    message(FATAL_ERROR "no ${arg_FILE_LIST}")
  endif()
endfunction()
set(CURRENT_PACKAGES_DIR ${WORK}/vcpkg-prefix)
include(${PORTFILE})
"""


def run(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def render(recipe, version):
    """What rattler-build makes of conda-forge's recipe."""
    variant, = rattler_build.Stage0Recipe.from_yaml(recipe).render()
    rendered = variant.recipe.to_dict()
    assert rendered["package"] == {"name": "pagoda-onnx", "version": version}, rendered
    requirements = rendered["requirements"]
    assert any(word.startswith("gxx") for word in requirements["build"]) and "nanobind >=2.7" in requirements["host"], requirements
    assert {"python": {"imports": ["pagoda"]}} in rendered["tests"], rendered


def main():
    source = pathlib.Path(sys.argv[1])
    if subprocess.run(["git", "-C", source, "rev-parse"], capture_output=True).returncode != 0:
        print("skipped: the sources are no git repository")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        url = f"file://{work}/recipes/pagoda-0.tar.gz"
        run(sys.executable, source / "packaging/recipes.py", "--url", url, "--homepage", "https://example.org", "-o",
            work / "recipes")
        tarballs = list((work / "recipes").glob("*.tar.gz"))
        assert len(tarballs) == 1, tarballs
        version = tarballs[0].name.removeprefix("pagoda-").removesuffix(".tar.gz")
        shutil.copy(tarballs[0], work / "recipes/pagoda-0.tar.gz")
        sha256 = hashlib.sha256(tarballs[0].read_bytes()).hexdigest()
        with tarfile.open(tarballs[0]) as archive:
            archive.extractall(work)
        unpacked = work / f"pagoda-{version}"

        manifest = json.loads((work / "recipes/vcpkg/vcpkg.json").read_text())
        assert manifest["version"] == version
        (work / "shim.cmake").write_text(VCPKG)
        run("cmake", f"-DWORK={work}", f"-DPORTFILE={work}/recipes/vcpkg/portfile.cmake", "-P", work / "shim.cmake")

        conda = (work / "recipes/conda-forge/recipe.yaml").read_text()
        assert f"url: {url}" in conda and f"sha256: {sha256}" in conda and f'version: "{version}"' in conda
        pip = (unpacked / "pyproject.toml").read_text()
        for requirement in re.findall(r'"([a-z-]+)>=', re.search(r"\nrequires = \[(.*)\]", pip)[1]):
            assert f"- {requirement} >=" in conda, requirement
        said = ["vcpkg: configured with stand-ins for its functions"]
        if rattler_build:
            render(conda, version)
        said.append("conda-forge: " + ("rendered by rattler-build" if rattler_build else "not rendered, as this Python has no py-rattler-build"))

        formula = (work / "recipes/homebrew/pagoda.rb").read_text()
        assert f'sha256 "{sha256}"' in formula and f'url "{url}"' in formula
        ruby = shutil.which("ruby")
        if ruby:
            run(ruby, "-c", work / "recipes/homebrew/pagoda.rb")
        said.append("Homebrew: configured, " + ("its syntax checked by ruby" if ruby else "its syntax not checked, as there is no ruby"))
        options = re.findall(r'"(-DPAGODA_[A-Z_]+=[A-Z]+)"', formula)
        assert options
        run("cmake", "-S", unpacked, "-B", work / "brew", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", *options)
        targets = run("ninja", "-C", work / "brew", "-t", "targets", "all")
        built = re.search(r'"--target", (.*)$', formula, re.M)[1]
        for target in re.findall(r'"(\w+)"', built):
            assert re.search(rf"^(?:packaging/)?{target}: phony", targets, re.M), target
    print(f"recipes of pagoda {version}", *said, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
