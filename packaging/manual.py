#!/usr/bin/env python3
"""Man pages and completions of bash from what tools print for --help: manual.py [--runner PROGRAM] FOLDER VERSION TOOL…
PROGRAM runs tools of another processor.

Writes FOLDER/man/man1/TOOL.1.gz and FOLDER/bash-completion/completions/TOOL.
"""
import gzip
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"^  (-\S[^ ]*(?: \S+)*?)(?:  +(.*))?$")
SUBCOMMAND = re.compile(r"^  ([a-z-]+) {2,}(.+)$")


def help_of(command):
    return subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout


def subcommands(text):
    if "\nSubcommands:\n" not in text:
        return {}
    block = text.split("\nSubcommands:\n", 1)[1].split("\n\n", 1)[0]
    return dict(found.groups() for found in map(SUBCOMMAND.match, block.splitlines()) if found)


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(letter if letter < "\x7f" else f"\\[u{ord(letter):04X}]" for letter in text)
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.splitlines())


def man_page(name, version, text, more):
    about, rest = text.split("\n", 1)
    lines = [f'.TH {name.upper()} 1 "" "Pagoda {version}" "User Commands"', ".SH NAME", f"{name} \\- {roff(about).rstrip('.')}"]

    def section(body):
        for line in body.splitlines():
            usage, option = re.match(r"^Usage: (.*)$", line), OPTION.match(line)
            heading = re.match(r"^([A-Z][\w ,]*):(?:  +(.*))?$", line)
            if usage:
                lines.extend([".SH SYNOPSIS", roff(usage[1])])
            elif heading:
                lines.append(f".SH {heading[1].upper()}")
                if heading[2]:
                    lines.extend([".B", roff(heading[2])])
            elif option:
                lines.extend([".TP", f"\\fB{roff(option[1])}\\fR"])
                if option[2]:
                    lines.append(roff(option[2]))
            elif re.match(r"^ {20,}\S", line):  # what an option of a long name does
                lines.append(roff(line.strip()))
            elif line.strip():
                lines.extend([".br", roff(line)])
            else:
                lines.append(".PP")

    section(rest)
    for command, body in more.items():
        lines.extend([f'.SH "{name.upper()} {command.upper()}"', roff(body.split("\n", 1)[0])])
        for line in body.splitlines()[1:]:
            option = OPTION.match(line)
            if option and not option[1].startswith("-h,"):
                lines.extend([".TP", f"\\fB{roff(option[1])}\\fR", roff(option[2] or "")])
    return "\n".join(lines) + "\n"


def options_of(text):
    return sorted({word for line in text.splitlines() if OPTION.match(line) for word in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", OPTION.match(line)[1])})


def choices_of(text):
    """Options that take one of a few words: --phase prefill|decode, --engine ID:{a,b}."""
    found = {}
    for line in text.splitlines():
        option = OPTION.match(line)
        if not option:
            continue
        name = re.findall(r"--[a-z-]+", option[1])
        listed = re.search(r"\{([^}]*)\}", option[1]) or re.search(r" ([a-z0-9-]+(?:\|[a-z0-9-]+)+)$", option[1])
        if name and listed:
            found[name[-1]] = re.split(r"[,|]", listed[1])
    return found


def completion(name, text, more):
    function = "_" + name.replace("-", "_")
    cases = "".join(f'    {option}) COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$word")); return ;;\n' for option, words in sorted(choices_of(text).items()))
    listed = ""
    if "--list-devices" in text:
        listed = f'    --device) COMPREPLY=($(compgen -W "$({name} --list-devices 2>/dev/null | sed -n \'2,$s/ .*//p\')" -f -- "$word")); return ;;\n'
    by_command = "".join(f'    {command}) options="{" ".join(options_of(body))}" ;;\n' for command, body in more.items())
    choose = f'  case "${{COMP_WORDS[1]}}" in\n{by_command}  esac\n  [ "$COMP_CWORD" = 1 ] && options="$options {" ".join(more)}"\n' if more else ""
    return f"""# Completion of {name} in bash.
{function}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} options="{" ".join(options_of(text))}"
  case "${{COMP_WORDS[COMP_CWORD - 1]}}" in
{cases}{listed}  esac
{choose}  if [[ $word == -* ]] || {{ [ "$COMP_CWORD" = 1 ] && [ -z "$word" ]; }}; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  fi
}}
complete -o default -F {function} {name}
"""


def main():
    arguments = sys.argv[1:]
    runner = []
    if arguments[0] == "--runner":
        _, program, *arguments = arguments
        runner = [program]
    folder, version, *tools = arguments
    pages = pathlib.Path(folder) / "man/man1"
    completions = pathlib.Path(folder) / "bash-completion/completions"
    for path in (pages, completions):
        path.mkdir(parents=True, exist_ok=True)
    for tool in map(pathlib.Path, tools):
        text = help_of([*runner, tool])
        more = {command: help_of([*runner, tool, command]) for command in subcommands(text)}
        page = man_page(tool.name, version, text, more).encode()
        (pages / f"{tool.name}.1.gz").write_bytes(gzip.compress(page, 9, mtime=0))
        (completions / tool.name).write_text(completion(tool.name, text, more))


if __name__ == "__main__":
    main()
