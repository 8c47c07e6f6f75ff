#!/usr/bin/env python3
"""Counts, for each reason of a provider's file, how many nodes with it the provider refused.

    count_refusals.py PROVIDER.json MODELS ANSWERS [--words TEXT] [--estimate PATH] [--write]

MODELS/NAME.onnx are models and ANSWERS/NAME.json (or NAME@free.json) what the provider said of them: {"sizes": {"dim": 1},
"forms": {"plain": {"nodes": [{"index": "0", "on": "cpu", "reason": "its own words"}]}, "default": …}}. Folders within both
are read as well. A node counts once, and as refused if it was in any answer. --words: only reasons under which the
provider's own words hold this text in most answers, such as those of a closed library (backendValidateOpConfig of QNN).
--write puts the counts of these into the file, as "refused": [REFUSED, OF] of their conditions.
"""
import argparse, collections, json, os, re, subprocess, sys, tempfile


def placed(estimate, provider, model, sizes, form):
    """Our rows by index; empty where the model cannot be estimated."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        dims = [text for name, size in sizes.items() for text in ("--dim", "%s=%d" % (name, size))]
        done = subprocess.run([estimate, model, "--provider", provider, "--placement-form", form, "--format", "json", "-o", out.name] + dims, capture_output=True)
        return json.load(open(out.name))["placement"][0]["nodes"] if done.returncode == 0 else []


def stated(text):
    """The reason within "may be refused: REASON (1 of 2 such nodes were)"."""
    return re.sub(r"^may be refused: (.*) \(\d+ of \d+ such nodes were\)$", r"\1", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("provider")
    parser.add_argument("models")
    parser.add_argument("answers")
    parser.add_argument("--words", default="")
    parser.add_argument("--estimate", default="onnx-estimate")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    nodes, words = collections.defaultdict(dict), collections.defaultdict(collections.Counter)
    for folder, _, files in sorted(os.walk(asked.answers)):
        for name in sorted(files):
            model = os.path.join(asked.models, os.path.relpath(folder, asked.answers), name[:-len(".json")].replace("@free", "") + ".onnx")
            if not name.endswith(".json") or not os.path.exists(model):
                continue
            answer = json.load(open(os.path.join(folder, name)))
            for form, said in answer["forms"].items():
                if not said or said.get("error") or "nodes" not in said:
                    continue
                theirs = {row["index"]: row for row in said["nodes"]}
                for row in placed(asked.estimate, asked.provider, model, answer.get("sizes") or {}, form):
                    reason, their = stated(row.get("reason") or ""), theirs.get(str(row["index"]))
                    if not reason or their is None or their["on"] not in ("provider", "cpu"):
                        continue
                    key = (model, row["index"])
                    nodes[reason][key] = nodes[reason].get(key, False) or their["on"] == "cpu"
                    if their["on"] == "cpu":
                        words[reason][asked.words in (their.get("reason") or "")] += 1
    counts = {}
    for reason, seen in sorted(nodes.items()):
        if words[reason][True] > 0 and words[reason][True] >= words[reason][False]:
            counts[reason] = [sum(seen.values()), len(seen)]
            print("%5d of %5d  %s" % (*counts[reason], reason))
    if asked.write:
        text = open(asked.provider).read().splitlines()
        for i, line in enumerate(text):
            row = json.loads(line.strip().rstrip(",")) if '"when":' in line else {}
            if row.get("reason") in counts:
                row["refused"] = counts[row["reason"]]
                text[i] = "  " + json.dumps(row, ensure_ascii=False) + ("," if line.endswith(",") else "")
        open(asked.provider, "w").write("\n".join(text) + "\n")


if __name__ == "__main__":
    sys.exit(main())
