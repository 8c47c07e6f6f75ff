#!/usr/bin/env python3
"""Builds the Containerfile without a container engine, in a bare Debian, and runs what it installs.

    tests/packages/containerfile.py FOLDER [NAME=VALUE…]     as root; TORCH=1 as with --build-arg

FOLDER/debian is the bare Debian of debootstrap, and FOLDER/image a copy of it in which the instructions run one after
another, as `docker build` would; a later call goes on after those that are done already. What it does not show is the
container itself: its limits, devices and privileges. Exit code 77: not root, or no debootstrap.
"""
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SUITES = {"debian:12": "bookworm"}  # of the images that the file starts from
# What a person then does, by the first lines of the Containerfile.
USES = [
    "{command} --json doctor.json",
    "onnx-estimate /src/models/skeletons/resnet50.onnx --device h200",
    "/src/examples/published_study.sh study",
    "FORMAT=png /src/examples/published_study.sh pictures",
    "pagoda-bench run /src/models/skeletons/mobilenet_v3_large.onnx --backend ort --batch 1 --runs 3 --warmup-runs 1 -o out",
    "ert-ceilings --cpu --quick --only l1.load --json ceilings.json",
]


def stop(message, code=1):
    print(message)
    sys.exit(code)


def instructions(text):
    """(word, rest) of each instruction, its continued lines joined, without comments."""
    joined = ""
    for line in text.splitlines():
        if line.lstrip().startswith("#") or not line.strip():
            continue
        joined += line.rstrip("\\")
        if not line.endswith("\\"):
            word, _, rest = joined.partition(" ")
            yield word, " ".join(rest.split())
            joined = ""
    if joined:
        stop(f"Containerfile: found a last line that goes on: {joined!r}")


def sources():
    """What a checkout has, as .dockerignore leaves it: a tar archive."""
    files = subprocess.check_output(["git", "-C", str(SOURCE), "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    return subprocess.run(["tar", "-C", str(SOURCE), "--sort=name", "--mtime=@0", "--null", "-T", "-", "-cf", "-"], input=files,
                          check=True, stdout=subprocess.PIPE).stdout


class Image:
    def __init__(self, folder, given):
        self.folder, self.root, self.given = folder, folder / "image", given
        # pip's settings are those of this machine; its certificates lie where no package puts others.
        self.environment = {k: v for k, v in os.environ.items() if k.startswith("PIP_") and k != "PIP_FIND_LINKS"}
        self.certificates = self.environment.get("PIP_CERT", "")
        if self.certificates:
            self.environment["PIP_CERT"] = "/etc/pip-certificates.pem"
        self.environment["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        self.workdir, self.command = "/", ""

    def value(self, text):
        for name, value in self.environment.items():
            text = text.replace("${%s}" % name, value).replace("$" + name, value)
        return text

    # Of what an instruction says: settings. They are read in every call.
    def arg(self, rest):
        name, _, default = rest.partition("=")
        self.environment[name] = self.given.get(name, default)

    def env(self, rest):
        self.environment.update(part.split("=", 1) for part in shlex.split(self.value(rest)))

    def cmd(self, rest):
        self.command = shlex.join(json.loads(rest))

    def workdir_(self, rest):
        self.workdir = rest

    # What it does to the files: once.
    def bare(self, rest):
        base = self.value(rest)
        if base not in SUITES:
            stop(f"Containerfile: FROM {base}: expected one of {', '.join(SUITES)}, which debootstrap makes")
        debian, mark = self.folder / "debian", self.folder / "debian.installed"
        if not mark.exists():
            shutil.rmtree(debian, ignore_errors=True)
            if subprocess.call(["debootstrap", "--variant=minbase", SUITES[base], str(debian)], stdout=subprocess.DEVNULL):
                stop("skipped: debootstrap reaches no archive", 77)
            mark.touch()
        shutil.rmtree(self.root, ignore_errors=True)
        subprocess.check_call(["cp", "-a", str(debian), str(self.root)])
        for name in ("/etc/resolv.conf", "/etc/hosts"):
            shutil.copy(name, self.root / name[1:])
        if self.certificates:
            shutil.copy(self.certificates, self.root / "etc/pip-certificates.pem")

    def copy(self, rest):
        what, to = rest.split()
        target = self.root / os.path.join(self.workdir, to)[1:]
        os.makedirs(target, exist_ok=True)
        if what == ".":
            subprocess.run(["tar", "-C", str(target), "-xf", "-"], input=sources(), check=True)
        else:
            shutil.copy(SOURCE / what, target)

    def run(self, command):
        os.makedirs(self.root / self.workdir[1:], exist_ok=True)
        # As in a container, /proc is there; it leaves with the command.
        inside = shlex.join(["chroot", str(self.root), "/bin/sh", "-c", f"cd {shlex.quote(self.workdir)} && {command}"])
        return subprocess.run(["unshare", "--mount", "/bin/sh", "-c", f"mount -t proc proc {shlex.quote(str(self.root / 'proc'))} && {inside}"],
                              env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run_or_stop(self, command):
        done = self.run(command)
        if done.returncode:
            stop(f"  exit {done.returncode}\n{done.stdout[-4000:]}")


def main():
    if len(sys.argv) < 2:
        stop(__doc__, 2)
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        stop("skipped: needs root and debootstrap", 77)
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    image = Image(folder, dict(part.split("=", 1) for part in sys.argv[2:]))
    settings = {"ARG": image.arg, "ENV": image.env, "WORKDIR": image.workdir_, "CMD": image.cmd}
    changes = {"FROM": image.bare, "COPY": image.copy, "RUN": image.run_or_stop}
    record, done = folder / "image.steps", []
    before = json.loads(record.read_text()) if record.exists() and image.root.exists() else []
    for word, rest in instructions((SOURCE / "Containerfile").read_text()):
        print(f"{word} {rest}", flush=True)
        if word in settings:
            settings[word](rest)
            name = rest.partition("=")[0]
            step = f"ARG {name}={image.environment[name]}" if word == "ARG" else f"{word} {rest}"
        elif word in changes:
            content = b"" if word != "COPY" else sources() if rest.startswith(". ") else (SOURCE / rest.split()[0]).read_bytes()
            step = f"{word} {rest} {hashlib.sha256(content).hexdigest()}"
            if before[:len(done) + 1] == done + [step]:
                print("  done before")
            else:
                # After the first instruction that differs, the files are those of another image.
                if len(before) > len(done) and word != "FROM":
                    record.unlink()
                    stop(f"  differs from what is in {image.root}; run this again, it starts anew")
                start = time.time()
                changes[word](rest)
                print(f"  {time.time() - start:.0f} s", flush=True)
        else:
            stop(f"Containerfile: {word}: expected one of {' '.join([*settings, *changes])}")
        done.append(step)
        if len(done) > len(before):
            before = done[:]
            record.write_text(json.dumps(done))
    for use in USES:
        command, start = use.format(command=image.command), time.time()
        print(f"$ {command}", flush=True)
        image.run_or_stop(command)
        print(f"  {time.time() - start:.0f} s", flush=True)
    size = int(subprocess.check_output(["du", "-sxm", str(image.root)]).split()[0])
    print(f"{len(USES)} commands ran in the image of {size} MB")


main()
