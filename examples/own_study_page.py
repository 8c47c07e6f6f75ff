#!/usr/bin/env python3
"""The page of examples/own_study.sh: what its folder of tables and pictures says, the verdict first.

    own_study_page.py FOLDER MODEL…        writes FOLDER/index.html
    own_study_page.py --has-joules CSV     exit 0 if a row has joules, else 1
"""
import csv
import html
import json
import pathlib
import re
import sys

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1d2129; max-width: 72em; margin: 0 auto; padding: 1em; }
h1 { font-size: 1.5em; line-height: 1.25; } h2 { font-size: 1.2em; margin-top: 2em; } h3 { font-size: 1em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; } th, td { padding: .15em .6em; text-align: right; white-space: nowrap; }
th { border-bottom: 1px solid #8a919c; font-weight: 600; } th:first-child, td:first-child, .text { text-align: left; } th:first-child, td:first-child { padding-left: 0; }
tr.first td { border-top: 1px solid #e2e5ea; } .scroll, pre { overflow-x: auto; } pre { font-size: 12px; }
figure { margin: 1em 0; } figure svg { max-width: 100%; height: auto; } .note { color: #5a6270; } .bad { color: #b42318; }
.narrow { display: none; }
@media screen and (max-width: 640px) { .wide, .more { display: none; } .narrow { display: block; } .narrow svg { width: 100%; }
  h1 { font-size: 1.25em; } table { font-size: 12px; } th, td { padding: .2em .3em; } th { white-space: normal; } }
"""
# Name of the files → heading, short name, and what one run of it is.
ENGINES = {"onnxruntime": ("ONNX Runtime, inference", "ONNX Runtime", "runs"), "pytorch": ("PyTorch, inference", "PyTorch", "runs"),
           "training": ("PyTorch, training steps", "a PyTorch step", "steps")}


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def number(text):
    return float(text) if text else None


def si(value, unit=""):
    """Three digits with a prefix; an unknown number is a dash."""
    if value is None:
        return "–"
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")):
        if abs(value) >= factor * 0.9995:
            scaled = value / factor
            digits = 0 if scaled >= 99.95 else 1 if scaled >= 9.995 else 2
            return f"{scaled:.{digits}f} {prefix}{unit}".rstrip()
    return f"{value:g} {unit}".rstrip()


def percent(part):
    return "–" if part is None else f"{100 * part:.3g} %"


def short(model):
    return model.removesuffix("_dynamic")


def rate(value):
    """Three digits without a prefix: "0.751"."""
    return "–" if value is None else f"{value:.3g}" if value < 1000 else si(value)


def table(head, body, more=(), texts=()):
    """body: rows of texts; a row that begins with a new first cell gets a rule. Columns in `more` are left out on a phone, those in
    `texts` are no numbers."""
    def cells(tag, row):
        opened = [f"<{tag}{' class=more' if i in more else ' class=text' if i in texts else ''}>" for i in range(len(row))]
        return "".join(f"{start}{html.escape(text)}</{tag}>" for start, text in zip(opened, row))

    lines, last = [], None
    for row in body:
        lines.append(f"<tr{' class=first' if last not in (None, row[0]) else ''}>{cells('td', row)}</tr>")
        last = row[0]
    return f"<div class=scroll><table><thead><tr>{cells('th', head)}</tr></thead><tbody>\n" + "\n".join(lines) + "\n</tbody></table></div>\n"


def unique_ids(svg, prefix):
    """Each picture's ids begin with its name: a page must not have one twice."""
    svg = re.sub(r"^<\?xml[^>]*>\s*", "", svg)
    svg = re.sub(r'( id="|url\(#|href="#)', lambda m: m[1] + prefix + "-", svg)
    return re.sub(r' aria-labelledby="([^"]+)"', lambda m: ' aria-labelledby="' + " ".join(f"{prefix}-{i}" for i in m[1].split()) + '"', svg)


def picture(folder, name):
    wide, narrow = folder / f"{name}.svg", folder / f"{name}.narrow.svg"
    if not wide.exists():
        return ""
    prefix = name.replace(".", "-")
    return (f"<figure><div class=wide>{unique_ids(wide.read_text(encoding='utf-8'), prefix)}</div>"
            f"<div class=narrow>{unique_ids(narrow.read_text(encoding='utf-8'), prefix + '-narrow')}</div></figure>\n")


def report_pictures(path, prefix):
    """The pictures of a page of pagoda-report, each drawn wide and narrow."""
    found = re.findall(r'<figure class="result">.*?</figure>', path.read_text(encoding="utf-8"), re.S) if path.exists() else []
    return "".join(unique_ids(figure, f"{prefix}-{i}") for i, figure in enumerate(found))


def engine_rows(folder, engine, models):
    """Each run of an engine: what the bounds say of it beside its statistics."""
    found = []
    if not (folder / f"{engine}.csv").exists():
        return found
    stats = {(row["model"], row["batch"]): row for row in rows(folder / f"{engine}.csv")}
    for model in models:
        path = folder / f"{model}.{engine}.csv"
        if not path.exists():
            continue
        names = {json.loads((folder / f"{model}.{engine}.runs.json").read_text(encoding="utf-8")).get("env", {}).get("model", model), model}
        for row in rows(path):
            if not row["measured_seconds"]:
                continue
            stat = next((stats[name, row["batch"]] for name in names if (name, row["batch"]) in stats), {})
            seconds, items = float(row["measured_seconds"]), number(row["items"])
            joules = number(row["measured_joules"])
            found.append({
                "model": model, "batch": int(row["batch"]), "seconds": seconds, "p95": number(stat.get("p95_seconds")),
                "rate": items / seconds if items else None, "bytes": number(stat.get("host_peak_bytes")),
                "flops": number(row["measured_flops_per_second"]), "traffic": number(row["measured_bytes_per_second"]),
                "share": number(row["bound_share"]), "joules": joules / items if joules and items else None,
                "efficiency": number(row["measured_flops_per_joule"]), "disturbed": number(stat.get("disturbed_runs"))})
    return found


def runs_table(found):
    columns = [("model", lambda r: short(r["model"])), ("batch", lambda r: str(r["batch"])), ("median", lambda r: si(r["seconds"], "s")),
               ("p95", lambda r: si(r["p95"], "s")), ("items/s", lambda r: rate(r["rate"])), ("memory", lambda r: si(r["bytes"], "B")),
               ("FLOP/s", lambda r: si(r["flops"])), ("B/s", lambda r: si(r["traffic"])), ("of the bound", lambda r: percent(r["share"]))]
    more = {3, 5, 6, 7}
    if any(r["joules"] is not None for r in found):
        more.add(len(columns) + 1)
        columns += [("J an item", lambda r: si(r["joules"], "J")), ("FLOP/J", lambda r: si(r["efficiency"]))]
    return table([name for name, _ in columns], [[text(r) for _, text in columns] for r in found], more)


def best(found, model):
    return max((r for r in found if r["model"] == model), key=lambda r: r["rate"] or 0, default=None)


def summary(runs, models):
    """The best batch of each engine, model by model."""
    body = []
    for model in models:
        for engine, found in runs.items():
            row = best(found, model)
            if row:
                body.append([short(model), ENGINES[engine][1], str(row["batch"]), rate(row["rate"]), percent(row["share"]), si(row["joules"], "J")])
    head = ["model", "by", "best batch", "items/s", "of the bound", "J an item"]
    if all(texts[-1] == "–" for texts in body):
        head, body = head[:-1], [texts[:-1] for texts in body]
    return table(head, body, {2}, {1})


def machine_notes(ceilings, roofs):
    """What bounds the runs, and how much of what was measured of the machine was disturbed."""
    float32 = max((roof for roof in roofs["compute"] if roof["id"] in ("vector-float32", "tensor-float32")), key=lambda roof: roof["value"], default=None)
    dram = next((roof for roof in roofs["bandwidth"] if roof["id"] == "dram"), None)
    limits = [f"{roof['name']} {si(roof['value'], roof['unit'])}" for roof in (float32, dram) if roof]
    note = f"<p>{html.escape(ceilings['machine']['name'])}, {ceilings['machine']['cpus']} processors; roofs: {html.escape(', '.join(limits))}, as measured.</p>\n"
    disturbed = [c for c in ceilings["ceilings"] if c["status"] != "ok"]
    if disturbed:
        note += (f"<p class=bad>{len(disturbed)} of {len(ceilings['ceilings'])} ceilings were disturbed: shares of the bound are right "
                 "within that noise only. For better ones, measure again on an idle machine.</p>\n")
    return note


def noise_note(runs):
    """Work beside a run for some of its time shows in the run's own spread, work for all of it only in the load of the machine."""
    every = [r for found in runs.values() for r in found if r["p95"]]
    noisy = [r for r in every if r["disturbed"] or r["p95"] > 1.5 * r["seconds"]]
    if not noisy:
        return ""
    return (f"<p class=bad>In {len(noisy)} of {len(every)} configurations other work ran beside the measured one: more tasks wanted the processors "
            "than there are, or one run in twenty took over 1.5 times the median.</p>\n")


def verdict(machine, runs):
    found = runs.get("onnxruntime") or next(iter(runs.values()), [])
    shares = [r for r in found if r["share"] is not None]
    if not shares:
        return f"A study of {machine}"
    low, high = min(shares, key=lambda r: r["share"]), max(shares, key=lambda r: r["share"])
    engine = "ONNX Runtime" if runs.get("onnxruntime") else "PyTorch"
    return f"{engine} reaches {percent(low['share'])} to {percent(high['share'])} of what {machine} allows, the most with {short(high['model'])} at batch {high['batch']}"


def main(folder, models):
    ceilings = json.loads((folder / "ceilings.json").read_text(encoding="utf-8"))
    runs = {engine: engine_rows(folder, engine, models) for engine in ENGINES}
    runs = {engine: found for engine, found in runs.items() if found}
    text = verdict(ceilings["machine"]["name"], runs)
    roofs = json.loads((folder / "roofs.json").read_text(encoding="utf-8"))["roofs"]
    parts = [f"<h1>{html.escape(text)}</h1>\n", machine_notes(ceilings, roofs), noise_note(runs), summary(runs, models)]
    for engine, found in runs.items():
        name, _, unit = ENGINES[engine]
        parts.append(f"<h2>{name}</h2>\n" + runs_table(found) + picture(folder, f"{engine}.roofline"))
        parts.append(report_pictures(folder / f"{engine}.html", engine))
        if (folder / f"{engine}.energy.svg").exists():
            parts.append(f"<h3>Energy of the {unit}</h3>\n" + picture(folder, f"{engine}.energy"))
            if (folder / f"{engine}.energy.txt").exists():
                parts.append("<pre>" + html.escape((folder / f"{engine}.energy.txt").read_text(encoding="utf-8")) + "</pre>\n")
    parts.append("<h2>What a training step is made of</h2>\n")
    for model in models:
        path = folder / f"{model}.step.txt"
        if path.exists():
            parts.append(f"<details><summary>{html.escape(model)}</summary><pre>{html.escape(path.read_text(encoding='utf-8'))}</pre></details>\n")
    if (folder / "ceilings.txt").exists():
        parts.append("<h2>What this machine can do</h2>\n<pre>" + html.escape((folder / "ceilings.txt").read_text(encoding="utf-8")) + "</pre>\n")
    (folder / "index.html").write_text(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>A study of this CPU</title>\n<style>{STYLE}</style></head><body>\n" + "".join(parts) + "</body></html>\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--has-joules":
        sys.exit(0 if any(row.get("joules") for row in rows(sys.argv[2])) else 1)
    main(pathlib.Path(sys.argv[1]), sys.argv[2:])
