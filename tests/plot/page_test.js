// Runs inside a chart page, after its own script, as a reader would use it: pointer, wheel, keys and controls. The last
// line of what it writes is what page_test.py looks for.
(() => {
  const results = [];
  const check = (what, is_true, seen) => results.push((is_true ? "ok   " : "FAIL ") + what + (is_true ? "" : ": " + JSON.stringify(seen)));
  const $ = (selector) => document.querySelector(selector), all = (selector) => [...document.querySelectorAll(selector)];
  const status = () => $("#status").textContent;
  const count = () => Number(status().split(" ")[0].replace(/,/g, ""));
  const set = (id, value, event = "input") => {
    const node = document.getElementById(id);
    node.value = value;
    node.dispatchEvent(new Event(event, { bubbles: true }));
  };
  const is_shown = (node) => node && node.getAttribute("display") !== "none";
  const dots = () => all(".series .estimated > *, .series .measured > *").filter((n) => is_shown(n) && is_shown(n.closest(".series")));
  // The page writes its address a moment later, or when it is left.
  const address = () => (window.dispatchEvent(new Event("pagehide")), location.hash);
  const clear = () => $("#clear").click();
  const data = JSON.parse($("#chart-data").textContent);
  const items = data.series[0].items, whole = items.count;
  const mouse = (type, node, more = {}) => {
    const box = node.getBoundingClientRect();
    const event = { bubbles: true, cancelable: true, pointerId: 1, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, ...more };
    node.dispatchEvent(type === "wheel" ? new WheelEvent(type, event) : type.startsWith("pointer") ? new PointerEvent(type, event) : new MouseEvent(type, event));
  };

  check("the script ran under its policy", document.documentElement.dataset.ready === "1", document.documentElement.dataset.ready);
  check("the status counts every operator", count() === whole && status().includes("100%"), status());
  check("no text of the page is a number that is none", !/\bNaN\b|Infinity|undefined/.test(document.body.innerText), document.body.innerText.match(/.{20}(NaN|Infinity|undefined).{20}/)?.[0]);

  // C++ and the script follow one rule for ticks: redrawing the whole frame changes none.
  const tick_texts = () => all("#ticks-x text, #ticks-y text").map((t) => t.textContent).join("|");
  check("ticks are those of the still picture", window.still_ticks === tick_texts(), [window.still_ticks, tick_texts()]);

  const name = items.name[0], before = dots().length;
  set("search", name);
  check("search leaves what holds the word", count() >= 1 && count() < whole && dots().length < before, status());
  set("search", "no such operator");
  check("search for nothing leaves nothing", count() === 0 && dots().length === 0, status());
  clear();
  check("clear brings all back", count() === whole && dots().length === before, status());

  const type = $(".legend .type");
  mouse("click", type);
  const without = count();
  check("a click on a type hides it", without < whole && type.getAttribute("aria-pressed") === "false", status());
  type.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
  check("a key on it shows it again", count() === whole, status());
  mouse("click", type, { shiftKey: true });
  check("shift leaves only this type", count() === whole - without, [status(), without]);
  clear();

  set("limit", "compute", "change");
  const compute = count();
  check("the limit filters", compute < whole, status());
  clear();
  set("share", 50);
  check("heaviest half of the time is fewer operators", count() < whole && parseFloat(status().split(", ")[1]) >= 50, status());
  clear();

  for (const colour of ["limit", "share", "precision"]) {
    set("color", colour, "change");
    check("colour by " + colour + " has a key", $("#color-key").children.length > 0, 0);
  }
  set("color", "type", "change");

  const ridge = () => $("#ridge text").textContent, first_ridge = ridge();
  const options = [...$("#precision").options].filter((o) => o.value !== $("#precision").value);
  set("precision", options[0].value, "change");
  const roof = data.roofs.compute[options[0].value], expected = roof.value / data.roofs.bandwidth[0].value;
  check("another roof moves the ridge to peak / bandwidth", ridge() !== first_ridge && Math.abs(parseFloat(ridge().split(" ")[1]) / expected - 1) < 0.01, [ridge(), expected]);
  clear();

  const boxes = all("#roof-boxes input").filter((b) => !b.checked && b.value !== "spec");
  boxes[0].click();
  check("a roof can be switched on", is_shown($(`.roof[data-roof="${boxes[0].value}"]`)), boxes[0].value);
  clear();

  const level = [...$("#level").options].find((o) => o.value !== "dram" && !o.disabled);
  if (items.l2_bytes) {
    const dot = $(".series .measured > *"), x = dot.getAttribute("cx");
    set("level", "l2", "change");
    check("another level moves dots", dot.getAttribute("cx") !== x && $("#title-x").textContent.includes("L2"), x);
    set("level", "dram", "change");
    check("and back", dot.getAttribute("cx") === x, dot.getAttribute("cx"));
  } else {
    check("levels without bytes are not offered", !level, level?.value);
  }

  const heads = () => all("thead button");
  const times = () => all("tbody tr[data-line]:not(.sub)").map((r) => r.cells[0].title);
  const by_time = times();
  heads().find((h) => h.dataset.sort === "name").click();
  const sorted = times();
  check("a header sorts", JSON.stringify(sorted) !== JSON.stringify(by_time) && $('th[aria-sort]').textContent === "Operator", sorted.slice(0, 3));
  heads().find((h) => h.dataset.sort === "name").click();
  check("again turns the order", times()[0] !== sorted[0], times()[0]);
  clear();
  check("few rows are in the document", all("tbody tr").length < 60, all("tbody tr").length);

  const row = all("tbody tr[data-line]")[0];
  row.cells[2].click();
  check("a row marks its dot", $("#ruler .ring") && address().includes("row="), location.hash);
  check("the ruler names limits at the roofs", all("#ruler text").length > 0, 0);
    $("tbody tr.selected")?.cells[2].click();
  check("again unmarks it", !$("#ruler .ring"), $("#ruler").innerHTML);

  const dot = dots().find((d) => d.tagName === "circle");
  mouse("pointermove", dot);
  check("hover shows a card with numbers", !$("#card").hidden && $("#card").textContent.includes("FLOP"), $("#card").textContent);
  mouse("pointerdown", dot);
  mouse("pointerup", dot);
  check("a click on a dot marks its row", $("tbody tr.selected") !== null, location.hash);
  $("#roofline").dispatchEvent(new PointerEvent("pointerleave"));
  check("leaving hides the card", $("#card").hidden, 0);
  $("#roofline").dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));

  const first = dots()[0], place = () => first.outerHTML, still = place();
  mouse("wheel", $("#plot"), { deltaY: -200 });
  check("the wheel zooms", place() !== still && address().includes("view="), location.hash);
  const zoomed = address();
  $("#zoom-reset").click();
  check("whole frame brings every dot back to its place", place() === still, [place(), still]);
  $("#roofline").dispatchEvent(new KeyboardEvent("keydown", { key: "+", cancelable: true }));
  check("keys zoom", address().includes("view="), location.hash);
  $("#zoom-reset").click();

  const paper = () => getComputedStyle($("svg .paper")).fill;
  const light = paper();
  $("#dark").click();
  check("dark changes the paper", paper() !== light && address().includes("dark="), paper());
  $("#dark").click();
  clear();

  location.hash = "#q=" + encodeURIComponent(name) + "&sort=name&" + zoomed.slice(1);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  check("an address brings its view back", $("#search").value === name && count() < whole && place() !== still, location.hash);
  location.hash = "#row=99999&s=77&level=l9&view=1,0,x,y&roof=%3Cb%3E&sort=bogus&share=-4";
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  check("a senseless address is the whole picture", count() === whole && place() === still, location.hash);

  check("no name became an element", !$("main img, main b, main script, svg script, svg foreignObject"), 0);
  check("every operator is in the table", (() => {
    const names = new Set();
    const scroller = $("#rows");
    const closed = () => all("tbody .expand").find((b) => b.textContent === "▸");
    for (let top = 0; top <= scroller.scrollHeight; top += 200) {
      scroller.scrollTop = top;
      scroller.dispatchEvent(new Event("scroll"));
      while (closed()) closed().click();
      for (const tr of all("tbody tr[data-line]")) names.add(tr.cells[0].title.replace(/^[▸▾]/, ""));
    }
    return items.name.every((n) => names.has(n));
  })(), 0);

  const started = performance.now();
  for (let i = 0; i < 5; ++i) {
    mouse("wheel", $("#plot"), { deltaY: i % 2 ? 100 : -100 });
    $("#roofline").getBBox();
  }
  results.push("zoom step, script and layout: " + ((performance.now() - started) / 5).toFixed(1) + " ms for " + dots().length + " dots");
  const out = document.createElement("pre");
  out.id = "results";
  out.textContent = results.join("\n") + "\n" + (results.some((r) => r.startsWith("FAIL")) ? "SOME FAILED" : "ALL PASSED");
  document.body.append(out);
})();
