// Runs inside a chart page, after the page's own script, and uses the page like a reader: pointer, wheel, keys and
// controls. page_test.py looks for the last line that it writes.
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
  const dots = () => all(".series .estimated > *, .series .measured > *, #outside path, #rail rect").filter((n) => is_shown(n) && (!n.closest(".series") || is_shown(n.closest(".series"))));
  // The page updates its address with a delay, or when the reader leaves.
  const address = () => (window.dispatchEvent(new Event("pagehide")), location.hash);
  const clear = () => $("#clear").click();
  const data = JSON.parse($("#chart-data").textContent);
  // A comparison of two models opens with the new one.
  const items = data.series[data.series.length === 2 && $("#pairs-data") ? 1 : 0].items, whole = items.count;
  const mouse = (type, node, more = {}) => {
    const box = node.getBoundingClientRect();
    const event = { bubbles: true, cancelable: true, pointerId: 1, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, ...more };
    node.dispatchEvent(type === "wheel" ? new WheelEvent(type, event) : type.startsWith("pointer") ? new PointerEvent(type, event) : new MouseEvent(type, event));
  };

  check("the script ran under its policy", document.documentElement.dataset.ready === "1", document.documentElement.dataset.ready);
  check("the status counts every operator", count() === whole && status().includes("100%"), status());
  check("no text of the page is a number that is none", !/\bNaN\b|Infinity|undefined/.test(document.body.innerText), document.body.innerText.match(/.{20}(NaN|Infinity|undefined).{20}/)?.[0]);

  check("the page opens with the roofline", $("#y").value === "rate", $("#y").value);
  if (data.series.length === 1 && data.roofs.has_main) {
    const at = +$("#ridge circle").getAttribute("cx"), frame = $("svg .frame").getBBox();
    check("the frame holds the ridge of the main roof", is_shown($("#ridge")) && at >= frame.x && at <= frame.x + frame.width, at);
    check("the main roof is solid", $(`.roof[data-roof="${data.roofs.compute[data.roofs.main].id}"] path`).getAttribute("stroke-dasharray") === "none", 0);
  } else if (data.series.length === 1) {
    check("without a roof of most FLOPs there is no ridge", !is_shown($("#ridge")), 0);
  } else {
    // Each model has the ridge of its own roof.
    for (const [s, one] of data.series.entries()) {
      set("series", s, "change");
      const work = new Map();
      one.items.roof.forEach((roof, i) => roof !== null && work.set(roof, (work.get(roof) ?? 0) + (one.items.counted_flops?.[i] ?? one.items.flops[i] ?? 0)));
      const [roof, most] = [...work].sort((a, b) => b[1] - a[1])[0] ?? [-1, 0], all_work = one.items.flops.reduce((sum, flops, i) => sum + (one.items.counted_flops?.[i] ?? flops ?? 0), 0);
      check(`the ridge is that of the roof of most FLOPs of model ${s}`, most > 0.501 * all_work ? is_shown($("#ridge")) && $("#precision").value == roof : most < 0.499 * all_work ? !is_shown($("#ridge")) : true, [$("#precision").value, roof, most / all_work]);
    }
    clear();
    set("series", data.series.length === 2 && $("#pairs-data") ? 1 : 0, "change");
  }
  const margin = all("#margin text").map((node) => node.getBBox()), frame_right = $("svg .frame").getBBox().x + $("svg .frame").getBBox().width;
  check("roofs are labelled in the right margin, inside the picture, none on another", margin.length > 0 && margin.every((box, i) => box.x > frame_right && box.x + box.width <= $("#roofline").viewBox.baseVal.width + 1 && (i === 0 || box.y >= margin[i - 1].y + 10)), margin.map(({ x, y, width }) => [x, y, width]));
  $("#marks").open = true;
  check("the page explains its marks", /area: 1, 5 and 10 % of the time/.test($("#marks").innerText) && all("#marks li").length >= 3, $("#marks").innerText);
  check("no type of the legend has no time", !all("#legend .type b").some((b) => b.textContent === "0%") || !(data.series[0].seconds > 0), $("#legend").textContent);
  check("rows that stand for several have no member's name", (() => { const one = items.name; return all("#rows tr[data-line]").every((tr) => !/ others$| without a dot$/.test(tr.cells[0].title) || !one.includes(tr.cells[0].title)); })(), 0);

  // The runs of all models are inside the frame, whichever model's dots are shown.
  const ends = all('#plot > g.path[data-kind="runs"] > path:first-child').flatMap((path) => path.getAttribute("d").match(/-?[\d.]+ -?[\d.]+/g).map((pair) => pair.split(" ").map(Number)));
  const [left, top, wide, high] = ["x", "y", "width", "height"].map((name) => +$("#plot-area rect").getAttribute(name));
  check("whole runs are inside the frame", ends.every(([x, y]) => x >= left && x <= left + wide && y >= top && y <= top + high), ends);

  // C++ and the script use the same rule for ticks: redrawing the whole frame changes none.
  const tick_texts = () => all("#ticks-x text, #ticks-y text").map((t) => t.textContent).join("|");
  $("#machine").click();
  check("ticks are those of the still picture", window.still_ticks === tick_texts(), [window.still_ticks, tick_texts()]);
  check("the machine's frame is in the address", address().includes("view=machine"), location.hash);
  $("#zoom-reset").click();

  // The verdict is in words, and no text contains code.
  const measured = data.series[0].time === "measured";
  check("the headline is a verdict", (measured ? /measured|kernels (add up to|ran for)/ : /(fused|unfused|resident)\b|launch-bound|predicted/).test($("h1").textContent) || data.series.length > 1, $("h1").textContent);
  check("the ladder is on one scale", all("#ladder li").every((li) => Math.abs(+li.querySelector("rect").getAttribute("width") - 100 * +(li.dataset.seconds ?? 0) / Math.max(...all("#ladder li").map((l) => +(l.dataset.seconds ?? 0)))) < 0.1) || !all("#ladder li[data-seconds]").length, $("#ladder")?.innerHTML);
  const code = /=>|function *\(|\[object/;
  for (const node of all(".estimated > [data-d], .measured > [data-d]").filter(is_shown).slice(0, 8)) {
    mouse("pointermove", node);
    check("no code in a card", !code.test($("#card").textContent), $("#card").textContent.match(code)?.[0]);
  }
  check("no code in the page", !code.test($("main").innerText), $("main").innerText.match(/.{30}(=>|function|\[object).{30}/)?.[0]);

  const name = items.name[0], before = dots().length;
  set("search", name);
  check("search leaves what holds the word", count() >= 1 && count() < whole && dots().length < before, status());
  set("search", "no such operator");
  check("search for nothing leaves nothing", count() === 0 && dots().length === 0, status());
  clear();
  check("clear brings all back", count() === whole && dots().length === before, status());

  const type = () => $("#legend .type");
  mouse("click", type());
  const without = count();
  check("a click on a type hides it", without < whole && type().getAttribute("aria-pressed") === "false", status());
  type().dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
  check("a key on it shows it again", count() === whole, status());
  mouse("click", type(), { shiftKey: true });
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
    $("#machine").click();
    const dot = $(".series .measured > circle"), x = dot.getAttribute("cx");
    set("level", "l2", "change");
    check("another level moves dots", dot.getAttribute("cx") !== x && $("#title-x").textContent.includes("L2"), x);
    set("level", "dram", "change");
    check("and back", dot.getAttribute("cx") === x, dot.getAttribute("cx"));
    $("#zoom-reset").click();
  } else {
    check("levels without bytes are not offered", !level, level?.value);
  }

  const heads = () => all("#rows thead button");
  const times = () => all("#rows tr[data-line]:not(.sub)").map((r) => r.cells[0].title);
  const by_time = times();
  heads().find((h) => h.dataset.sort === "name").click();
  const sorted = times();
  check("a header sorts", JSON.stringify(sorted) !== JSON.stringify(by_time) && $('#rows th[aria-sort]').textContent === "Operator", sorted.slice(0, 3));
  heads().find((h) => h.dataset.sort === "name").click();
  check("again turns the order", times()[0] !== sorted[0], times()[0]);
  clear();
  check("few rows are in the document", all("#rows tr").length < 60, all("#rows tr").length);

  const row = all("#rows tr[data-line]")[0];
  row.cells[2].click();
  check("a row marks its dot", $("#ruler .ring") && address().includes("row="), location.hash);
  check("the ruler names limits at the roofs", all("#ruler text").length > 0, 0);
    $("#rows tr.selected")?.cells[2].click();
  check("again unmarks it", !$("#ruler .ring"), $("#ruler").innerHTML);

  const dot = dots().find((d) => d.tagName === "circle");
  mouse("pointermove", dot);
  check("hover shows a card with numbers", !$("#card").hidden && $("#card").textContent.includes("FLOP"), $("#card").textContent);
  mouse("pointerdown", dot);
  mouse("pointerup", dot);
  check("a click on a dot marks its row", $("#rows tr.selected") !== null, location.hash);
  $("#roofline").dispatchEvent(new PointerEvent("pointerleave"));
  check("leaving hides the card", $("#card").hidden, 0);
  $("#roofline").dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));

  // Dots and rows are linked both ways, by pointer and keys.
  const rows_at = $("#rows"), key = (node, name) => node.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  const circle = dots().find((d) => d.tagName === "circle");
  mouse("pointermove", circle);
  check("a dot under the pointer marks its row", $("#rows tr.pointed") !== null, $("#rows tbody").textContent.slice(0, 80));
  $("#roofline").dispatchEvent(new PointerEvent("pointerleave"));
  check("and leaving unmarks it", $("#rows tr.pointed") === null, 0);
  const with_dot = all("#rows tr[data-line]").find((tr) => { mouse("mouseover", tr.cells[1]); return $("#ruler .ring"); });
  check("a row under the pointer marks its dot", with_dot, 0);
  $("#rows tbody").dispatchEvent(new MouseEvent("mouseleave"));
  check("and leaving unmarks it, too", !$("#ruler .ring"), $("#ruler").innerHTML);
  key(rows_at, "ArrowDown");
  const first_name = $("#rows tr.selected")?.cells[0].title;
  key(rows_at, "ArrowDown");
  check("and show the card of the row, which screen readers read", !$("#card").hidden && $("#card").getAttribute("aria-live") === "polite" && $("#card strong").textContent === $("#rows tr.selected").cells[0].title, $("#card").textContent.slice(0, 60));
  check("arrow keys walk through the rows", first_name && $("#rows tr.selected")?.cells[0].title !== first_name, first_name);
  key(rows_at, "ArrowUp");
  check("and back", $("#rows tr.selected")?.cells[0].title === first_name, first_name);
  check("the row is said to be selected", $("#rows tr.selected").getAttribute("aria-selected") === "true", 0);
  key(rows_at, "Escape");
  key($("#roofline"), "n");
  check("n in the chart selects the heaviest row", $("#rows tr.selected") !== null, 0);
  key(rows_at, "Escape");
  set("y", "time", "change");
  check("time upwards: roofs go, dots stay", $("#roofs").getAttribute("display") === "none" && dots().length > 0 && address().includes("y=time"), location.hash);
  set("y", "bytes", "change");
  check("time over bytes: dots stay, and the memory is a line", $("#bandwidth path") && dots().length > 0 && $("#title-x").textContent.includes("bytes of one kernel") && address().includes("y=bytes"), location.hash);
  set("y", "rate", "change");
  check("few tab stops before the chart", all("main a, main button, main input, main select, main summary, main [tabindex]").filter((n) => !n.closest("[hidden]") && n.compareDocumentPosition($("#roofline")) & Node.DOCUMENT_POSITION_FOLLOWING).length <= 14, 0);
  check("one h1, and every control has a name", all("h1").length === 1 && all("main input, main select").every((n) => n.closest("label") || n.getAttribute("aria-label")), all("main input, main select").filter((n) => !n.closest("label") && !n.getAttribute("aria-label")).map((n) => n.id));

  // Tabs: one shows at a time, by click and by keys; the open one is in the address and follows the chart's filters.
  const open = (name) => { const button = $("#tab-" + name); if (button.hidden) return null; button.click(); return $("#" + name); };
  const shown = () => all("#tabs [role=tabpanel]").filter((panel) => !panel.hidden).map((panel) => panel.id);
  const offered = all("#tab-bar [role=tab]").filter((button) => !button.hidden).map((button) => button.dataset.tab);
  results.push("tabs: " + offered.join(", "));
  for (const name of offered) {
    const panel = open(name);
    check(`tab ${name} shows itself alone, with something in it`, shown().join() === name && panel.textContent.trim().length > 3 && $("#tab-" + name).getAttribute("aria-selected") === "true" && address().includes("tab=" + name), [shown(), location.hash]);
    check(`no text in ${name} is a number that is none, or code`, !/\bNaN\b|Infinity|undefined/.test(panel.innerText) && !code.test(panel.innerText), panel.innerText.match(/.{20}(NaN|Infinity|undefined|=>).{20}/)?.[0]);
  }
  check("tabs are of the kinds that the page has", ["types", "timeline"].every((name) => offered.includes(name)) && offered.includes("energy") === !!data.energy && offered.includes("compare") === data.series.length > 1, offered);
  open(offered[0]);
  key($("#tab-bar"), "ArrowRight");
  check("an arrow key goes to the next tab", shown().join() === offered[1] && document.activeElement.dataset.tab === offered[1], shown());
  if (open("structure")) {
    const part = $("#structure g[data-filter]"), rects = all("#structure g[data-filter] rect");
    const top = rects.filter((r) => +r.getAttribute("y") < 1).reduce((sum, r) => sum + +r.getAttribute("width") + 1, 0);
    check("parts of the model fill its time", top / +$("#structure svg").getAttribute("width") > 0.95, top);
    // "layers.{1-3,7}/" stands for four layers that hold the same operators in the same order.
    const paths = items.name.map((name, i) => (name.includes("/") ? name.split("/").filter(Boolean).join("/") : data.strings[items.scope[i]].split("/").filter(Boolean).concat(name).join("/")) + "/");
    const works = (i) => (items.seconds?.[i] ?? Math.max(items.compute_seconds[i] ?? 0, items.memory_seconds[i] ?? 0)) > 0;
    for (const group of all("#structure g[data-filter]").filter((each) => /^[^{]*\{[\d,-]+\}[^{/]*\/?$/.test(each.dataset.filter))) {
      const [, before, ranges, after] = /^(.*)\{(.*)\}(.*)$/.exec(group.dataset.filter);
      const numbers = ranges.split(",").flatMap((range) => { const [from, to = from] = range.split("-").map(Number); return Array.from({ length: to - from + 1 }, (_, k) => from + k); });
      const recipes = numbers.map((number) => items.type.filter((_, i) => works(i) && paths[i].startsWith(before + number + after + (after.endsWith("/") ? "" : "/"))).join());
      const label = group.getAttribute("aria-label");
      if (!label.includes(` ×${numbers.length}:`) || !recipes[0] || new Set(recipes).size !== 1) check("a part with a count stands for that many parts with the same operators", false, [label, group.dataset.filter, recipes]);
    }
    part.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    check("a part filters rows and dots", $("#search").value === part.dataset.filter && count() <= whole, status());
    clear();
    set("search", "{0-99999}");
    check("a range in the search finds the rows with such a number", count() === whole || count() > 0 || !items.name.some((name) => /\d/.test(name)), status());
    clear();
  }
  if (open("timeline")) {
    const strip = $("#timeline svg");
    mouse("pointermove", strip, { clientX: strip.getBoundingClientRect().left + 3 });
    check("the timeline marks its row", $("#rows tr.pointed") !== null && $("#cursor-text").textContent.length > 3, $("#cursor-text").textContent);
    $("#timeline").dispatchEvent(new MouseEvent("mouseleave"));
    strip.dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: strip.getBoundingClientRect().left + 3 }));
    check("a click in the timeline selects its row", $("#rows tr.selected") !== null, location.hash);
    clear();
  }
  if (open("types")) {
    const rows = all("#types tbody tr"), listed = rows.map((tr) => Number(tr.cells[1].textContent.replace(/,/g, ""))).reduce((a, b) => a + b, 0);
    check("types list every row with a time", listed <= whole && listed >= all("#legend .type").length, [listed, whole]);
    rows[0].cells[1].click();
    check("a type filters the table", count() < whole || rows.length === 1, status());
    clear();
    set("search", "no such operator");
    check("tabs follow the filters", all("#types tbody tr").length === 0, 0);
    clear();
  }
  if (open("fusion")) {
    const rows = all("#fusion tbody tr");
    check("fused kernels open to their nodes", rows.length > 0 && rows.every((tr) => tr.querySelectorAll("li").length > 1), rows.length);
    const in_seconds = (text) => { const [, value, unit] = /([\d.]+) ([mµn]?s)/.exec(text); return value * { s: 1, ms: 1e-3, "µs": 1e-6, ns: 1e-9 }[unit]; };
    const rung = (which) => in_seconds($(`#ladder [data-rung="${which}"] b`).textContent), saved = $("#fusion .lead").textContent.match(/and (.*) of the lower bound/)?.[1];
    // The rest is saved by single-node kernels that read or write through views.
    const part = saved && $('#ladder [data-rung="unfused"]') ? in_seconds(saved) / (rung("unfused") - rung("fused")) : 1;
    check("what kernels save is most of the ladder's step, and no more", part > 0.7 && part < 1.02, [saved, part]);
    const linked = rows.find((tr) => { mouse("mouseover", tr.cells[0]); return $("#rows tr.pointed"); });
    check("a fused kernel marks its row", linked, 0);
    $("#fusion").dispatchEvent(new MouseEvent("mouseleave"));
  }
  if (open("energy")) {
    const shares = all("#energy tbody tr").map((tr) => parseFloat(tr.cells[3].textContent.replace("<", ""))).reduce((a, b) => a + b, 0);
    check("energy of the rows is all of it", $("#energy .lead").textContent.includes("No row") || Math.abs(shares - 100) < 3, shares);
  }
  if (open("compare")) {
    const pairs = JSON.parse($("#pairs-data").textContent), seconds = (s, list) => list.reduce((sum, i) => sum + (s.items.seconds?.[i] ?? Math.max(s.items.compute_seconds[i] ?? 0, s.items.memory_seconds[i] ?? 0)), 0);
    if (!pairs.pairs[0]) {
      // Models that share too little are compared as wholes.
      check("unrelated models are compared by totals alone, and it is said", all("#compare .lead")[0].textContent.includes("only totals are compared") && $('#compare table[aria-label="Totals"] tbody tr'), all("#compare .lead")[0].textContent);
    } else {
      const [a, b] = data.series, sum = pairs.pairs[0].reduce((all, [i, j]) => all + seconds(b, j) - seconds(a, i), 0);
      check("changes of the pairs add up to the change", Math.abs(sum - (b.seconds - a.seconds)) < 1e-4 * (a.seconds + b.seconds), [sum, b.seconds - a.seconds]);
      check("no row is in two pairs", [0, 1].every((side) => { const used = pairs.pairs[0].flatMap((pair) => pair[side]); return new Set(used).size === used.length; }), 0);
      check("changes stand in a table and as slopes", all("#compare .slope").length > 0 && all("#compare tbody tr").length > 3, 0);
      set("limit", "compute", "change");
      const filtered = all("#compare .lead")[0].textContent;
      clear();
      check("the comparison follows the filters", filtered !== all("#compare .lead")[0].textContent, filtered);
    }
  }
  clear();
  check("a row of an estimate says what fusing it saves", !$("#what-if-data") || JSON.parse($("#what-if-data").textContent).fused || heads().some((h) => h.dataset.sort === "recoverable"), heads().map((h) => h.dataset.sort));

  const first = dots()[0], place = () => first.outerHTML, still = place();
  mouse("wheel", $(".frame"), { deltaY: -200 });
  check("the wheel zooms", place() !== still && address().includes("view="), location.hash);
  const zoomed = address();
  $("#zoom-reset").click();
  check("whole frame brings every dot back to its place", place() === still, [place(), still]);
  $("#roofline").dispatchEvent(new KeyboardEvent("keydown", { key: "+", cancelable: true }));
  check("keys zoom", address().includes("view="), location.hash);
  $("#zoom-reset").click();

  const paper = () => getComputedStyle($("svg .paper")).fill;
  const light = paper();
  const check_contrast = (theme) => {
    const found = new Set(offered.flatMap((name) => { open(name); return window.pale_texts(); }));
    check(`every text has contrast on ${theme} paper`, found.size === 0, [...found].slice(0, 9));
  };
  check_contrast("light");
  $("#dark").click();
  check("dark changes the paper", paper() !== light && address().includes("dark="), paper());
  check_contrast("dark");
  $("#dark").click();
  clear();

  location.hash = "#q=" + encodeURIComponent(name) + "&sort=name&" + zoomed.slice(1);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  check("an address brings its view back", $("#search").value === name && count() < whole && place() !== still, location.hash);
  location.hash = "#row=99999&s=77&level=l9&view=1,0,x,y&roof=%3Cb%3E&sort=bogus&share=-4";
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  check("a senseless address is the whole picture", count() === whole && place() === still, location.hash);

  check("no name became an element", !all("main img, main b, main script, svg script, svg foreignObject, main [onload], main [onerror]").some((node) => !node.matches("#legend b, #ladder b, #answer b, .lead b")), 0);
  check("every operator is in the table", (() => {
    const names = new Set();
    const scroller = $("#rows");
    const closed = () => all("#rows .expand").find((b) => b.textContent === "▸");
    for (let top = 0; top <= scroller.scrollHeight; top += scroller.clientHeight / 2) {
      scroller.scrollTop = top;
      scroller.dispatchEvent(new Event("scroll"));
      while (closed()) closed().click();
      for (const tr of all("#rows tr[data-line]")) names.add(tr.cells[0].title.replace(/^[▸▾]/, ""));
    }
    return items.name.every((n) => names.has(n));
  })(), 0);

  const buttons = () => all("#rows thead button").length;
  const on_screen = buttons();
  window.dispatchEvent(new Event("beforeprint"));
  check("on paper the header is text, which repeats on each page", buttons() === 0 && $("#rows thead").textContent.includes("Operator"), $("#rows thead").innerHTML);
  window.dispatchEvent(new Event("afterprint"));
  check("afterwards it sorts again", buttons() === on_screen && on_screen > 0, buttons());

  const started = performance.now();
  for (let i = 0; i < 5; ++i) {
    mouse("wheel", $(".frame"), { deltaY: i % 2 ? 100 : -100 });
    $("#roofline").getBBox();
  }
  results.push("zoom step, script and layout: " + ((performance.now() - started) / 5).toFixed(1) + " ms for " + dots().length + " dots");
  const out = document.createElement("pre");
  out.id = "results";
  out.textContent = results.join("\n") + "\n" + (results.some((r) => r.startsWith("FAIL")) ? "SOME FAILED" : "ALL PASSED");
  document.body.append(out);
})();
