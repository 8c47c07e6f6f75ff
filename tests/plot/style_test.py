#!/usr/bin/env python3
"""Colours of pages, light and dark: style_test.py SOURCE_DIR

Contrast by WCAG 2.1 (1.4.3, level AA: 4.5 for text; 1.4.11: 3 for marks with meaning) of the custom properties in
page.css, and of the outlines of hollow dots; and the four colours of limits, which are only accompanied by a letter: their distance in CIELAB, as seen by
people without green or red cones (Viénot, Brettel, Mollon 1999).
"""
import itertools
import pathlib
import re
import sys

TEXT, MARK = 4.5, 3.0
# Text or mark, its background, minimum contrast.
PAIRS = [("ink", "paper", TEXT), ("ink", "soft", TEXT), ("muted", "paper", TEXT), ("muted", "soft", TEXT), ("warn", "soft", TEXT), ("warn", "paper", TEXT),
         ("paper", "accent", TEXT), ("accent", "paper", MARK), ("better", "paper", MARK), ("worse", "paper", MARK),
         ("chip-text", "compute", TEXT), ("chip-text", "memory", TEXT), ("chip-text", "neither", TEXT), ("chip-text", "unknown", TEXT),
         ("chip-text", "latency", TEXT), ("latency", "paper", MARK),
         ("compute", "paper", MARK), ("memory", "paper", MARK), ("neither", "paper", MARK), ("unknown", "paper", MARK)]
LEAST_DISTANCE = 15  # in CIELAB; neighbouring shades become distinguishable at about 2


def channels(colour):
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    return [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]


def linear(colour):
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(colour)]


def luminance(colour):
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear(colour)))


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


# Linear RGB as seen without one kind of cones; rows of the matrix products in the paper.
BLIND = {"deuteranopia": ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
         "protanopia": ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0))}


def lab(rgb):
    x, y, z = (sum(weight * c for weight, c in zip(row, rgb)) for row in ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505)))
    f = [t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x / 0.9505, y, z / 1.089)]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def seen(colour, kind):
    rgb = linear(colour)
    return lab([max(0.0, sum(weight * c for weight, c in zip(row, rgb))) for row in BLIND[kind]]) if kind in BLIND else lab(rgb)


def main():
    style = (pathlib.Path(sys.argv[1]) / "lib/present/page/page.css").read_text()
    blocks = re.findall(r":root([^{]*)\{([^}]*)\}", style)
    light = {}
    failures = []
    themes = []
    for selector, body in blocks:
        values = dict(re.findall(r"--([\w-]+):\s*(#[0-9a-fA-F]+)", body))
        if not values:
            continue
        if not light:
            light = values
        themes.append((selector.strip() or "light", {**light, **values}))
    if len(themes) != 3 or themes[1][1] != themes[2][1]:
        failures.append(f"expected light, and dark twice alike, by choice and by the system; found {[name for name, _ in themes]}")
    for name, colours in themes[:2]:
        for text, ground, least in PAIRS:
            ratio = contrast(colours[text], colours[ground])
            print(f"{name:26} {text:9} on {ground:8} {ratio:5.2f}")
            if ratio < least:
                failures.append(f"{name}: {text} on {ground} has {ratio:.2f}, expected {least}")
    source = pathlib.Path(sys.argv[1]) / "lib/present"
    edges = re.findall(r"#[0-9A-F]{6}", re.search(r"const kEdges = \[(.*?)\]", (source / "page/data.js").read_text()).group(1))
    drawn = re.findall(r"#[0-9A-F]{6}", re.search(r"kEdges = \{(.*?)\}", (source / "draw/svg.h").read_text(), re.S).group(1))
    if len(edges) != 7 or edges != drawn:
        failures.append(f"the page outlines dots in {edges}, pictures in {drawn}")
    for name, colours in themes[:2]:
        for edge in edges:
            if contrast(edge, colours["paper"]) < MARK:
                failures.append(f"{name}: a dot outlined in {edge} has {contrast(edge, colours['paper']):.2f}, expected {MARK}")
    for kind in ("all cones", *BLIND):
        for a, b in itertools.combinations(("compute", "memory", "neither", "latency"), 2):
            far = sum((x - y) ** 2 for x, y in zip(seen(light[a], kind), seen(light[b], kind))) ** 0.5
            print(f"{kind:26} {a:9} to {b:8} {far:5.1f}")
            if far < LEAST_DISTANCE:
                failures.append(f"{kind}: {a} and {b} are {far:.1f} apart, expected {LEAST_DISTANCE}")
    for failure in failures:
        print("FAIL", failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
