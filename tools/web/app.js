"use strict";
// Turns files and controls into a command line, which the worker runs. The page shows what onnx-estimate prints for the
// same command line.
const $ = (id) => document.getElementById(id);
const bytes_of = (text) => Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));

// --- The worker: one run at a time ---
let worker = null, waiting = new Map(), last_id = 0;
async function start_worker() {
  const unpacked = new Response(new Blob([bytes_of($("worker-source").textContent)]).stream().pipeThrough(new DecompressionStream("gzip")));
  worker = new Worker(URL.createObjectURL(new Blob([await unpacked.text()], { type: "text/javascript" })));
  worker.onmessage = ({ data }) => (waiting.get(data.id)(data), waiting.delete(data.id));
  worker.onerror = (event) => ($("status").textContent = `This browser cannot run the analysis: ${event.message}. A browser from 2023 on can.`);
  const packed = bytes_of($("wasm").textContent);
  worker.postMessage({ packed: packed.buffer }, [packed.buffer]);
  for (const id of ["worker-source", "wasm"]) $(id).remove();
}
function run(words, ending = "txt", files = []) {
  return new Promise((resolve) => {
    waiting.set(++last_id, resolve);
    worker.postMessage({ id: last_id, words, ending, files });
  });
}

// --- The request ---
const files = new Map();  // all dropped files, by name
let model = null, other = null;  // names
const dims = [];  // free dims of the model's inputs

// A control and the words that it adds to the command; `values` may be a list of texts or of [value, text].
const kControls = [
  { id: "device", text: "Device", values: [["", "none"]], words: (v) => ["--device", v] },
  { id: "precision", text: "Precision", values: [["", "as in the file"], "float32", "tf32", "float16", "bfloat16", "fp8", "int8", "int4"], words: (v) => ["--precision", v] },
  { id: "traffic", text: "Traffic", values: [["", "unfused"], "fused", "resident"], words: (v) => ["--traffic", v] },
  { id: "batch", text: "Batch", number: 1, words: (v) => ["--batch", v] },
  { id: "engine", text: "Predict", values: [["", "no"]], words: (v) => ["--predict", "--engine", v] },
  { id: "memory", text: "Memory plan", values: [["", "no"], ["1", "yes"]], words: () => ["--memory"] },
  { id: "training", text: "Training", values: [["", "no"], "sgd", "momentum", "adam", "adamw"], words: (v) => ["--training", "--optimizer", v] },
  { id: "phase", text: "Phase", values: [["", "none"], "prefill", "decode"], words: (v) => ["--phase", v] },
  { id: "past", text: "Past tokens", number: 0, words: (v) => ["--past", v] },
  { id: "tokens", text: "New tokens", number: 1, words: (v) => ["--tokens", v] },
  { id: "what-if", text: "What if", values: [["", "no"], ["fp32,tf32,fp16,fp8,int8", "all precisions"]], words: (v) => ["--what-if", v] },
];

function element(name, properties, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}
function add_options(select, values) {
  for (const value of values) {
    const [key, text] = Array.isArray(value) ? value : [value, value];
    select.append(element("option", { value: key, textContent: text }));
  }
}
function add_control(control, before = null) {
  const input = control.values ? element("select", { id: control.id }) : element("input", { id: control.id, type: "number", min: control.number, step: 1, placeholder: control.shown ?? "" });
  if (control.values) add_options(input, control.values);
  const label = element("label", {}, control.text + " ", input);
  $("controls").insertBefore(label, before);
  return label;
}

// Splits a command line as a shell does: at spaces outside quotes.
function split_words(text) {
  const words = [];
  for (const found of text.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)) words.push(found[0].replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
  return words;
}
const in_shell = (word) => (/^[\w.,:=\/+@%-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);
function options() {
  const words = [];
  for (const control of kControls) if ($(control.id).value !== "") words.push(...control.words($(control.id).value));
  for (const dim of dims) if (dim.input.value !== "") words.push("--dim", `${dim.name}=${dim.input.value}`);
  return [...words, ...split_words($("more").value)];
}

// --- The display ---
let is_running = false, is_stale = false, page_url = null;
async function update() {
  if (!model) return;
  is_stale = true;
  if (is_running) return;
  is_running = true;
  while (is_stale) {
    is_stale = false;
    await show_answer();
  }
  is_running = false;
}

async function show_answer() {
  const words = options(), list = [...files.values()];
  const command = [model, ...words, ...(other ? ["--compare", other] : [])];
  $("command").textContent = ["onnx-estimate", ...command].map(in_shell).join(" ");
  $("status").textContent = "Analysing …";
  delete document.body.dataset.done;
  const answer = await run(command, "txt", list);
  show_text("answer", answer.text);
  show_text("notes", answer.notes);
  document.body.dataset.answered = String(performance.now());
  const seconds = `Answered in ${answer.milliseconds.toFixed(0)} ms`;
  $("status").textContent = answer.code === 0 ? seconds : `${seconds}, exit code ${answer.code}`;
  if (is_stale) return;
  if (dims.model !== model) await show_dims(list);
  if (is_stale) return;
  // A page shows one model on one device, so it needs --device and a usable answer.
  const is_drawn = words.includes("--device") && (answer.code === 0 || answer.code === 3);
  const page = is_drawn ? await run([model, ...words], "html", list) : null;
  if (is_stale) return;
  show_page(page);
  document.body.dataset.done = String(performance.now());
}

function show_text(id, text) {
  $(id).textContent = text;
  $(id).hidden = text.trim() === "";
}

function show_page(page) {
  if (page_url) URL.revokeObjectURL(page_url);
  page_url = page?.text ? URL.createObjectURL(new Blob([page.text], { type: "text/html" })) : null;
  $("page").hidden = $("page-bar").hidden = !page_url;
  if (page && !page.text) $("status").textContent += `; no page: ${page.notes}`;
  if (!page_url) return $("page").removeAttribute("src");
  $("page").src = page_url;
  $("save").href = page_url;
  $("save").download = model.replace(/\.onnx$/, "") + ".html";
}

// One control per free dim of the file, with the names that the command line accepts.
async function show_dims(list) {
  const { text } = await run([model, "--top", "1"], "json", list);
  for (const dim of dims) dim.label.remove();
  dims.length = 0;
  dims.model = model;
  if (!text) return;
  const { bindings } = JSON.parse(text);
  for (const [name, value] of Object.entries(bindings ?? {})) {
    if (value !== null || name === "batch") continue;
    const label = add_control({ id: "dim-" + name, text: name, number: 0, shown: "1" });
    dims.push({ name, label, input: label.querySelector("input") });
  }
}

// --- Files ---
function take(list) {
  const models = [];
  for (const file of list) {
    files.set(file.name, file);
    if (/\.onnx$/i.test(file.name)) models.push(file.name);
    else if (/\.json$/i.test(file.name)) offer_file(file.name);
  }
  if (!models.length && !model && list.length) models.push(list[0].name);  // the tool reports what the file is instead
  for (const name of models) {
    if (model && model !== name) other = model;
    model = name;
  }
  show_models();
  update();
}
// Adds a user's device file to the list of devices.
function offer_file(name) {
  if (![...$("device").options].some((option) => option.value === name)) add_options($("device"), [name]);
}
function show_models() {
  $("models").hidden = $("request").hidden = !model;
  $("model").textContent = model ?? "";
  $("other").hidden = !other;
  $("other-name").textContent = other ?? "";
}

async function main() {
  await start_worker();
  for (const control of kControls) add_control(control);
  addEventListener("dragover", (event) => (event.preventDefault(), document.body.classList.add("over")));
  for (const name of ["dragleave", "drop"]) addEventListener(name, () => document.body.classList.remove("over"));
  addEventListener("drop", (event) => (event.preventDefault(), take(event.dataTransfer.files)));
  $("files").addEventListener("change", () => (take($("files").files), ($("files").value = "")));
  $("swap").addEventListener("click", () => (([model, other] = [other, model]), show_models(), update()));
  $("alone").addEventListener("click", () => ((other = null), show_models(), update()));
  $("copy").addEventListener("click", () => navigator.clipboard.writeText($("command").textContent));
  $("request").addEventListener("change", update);
  $("request").addEventListener("submit", (event) => (event.preventDefault(), update()));
  const [devices, engines] = [await run(["--list-devices"], "json"), await run(["--list-engines"], "json")].map(({ text }) => JSON.parse(text));
  add_options($("device"), devices.devices.map((device) => [device.id, device.name]));
  add_options($("engine"), engines.engines.map((engine) => engine.id));
  $("device").value = "h100-sxm";
  $("status").textContent = "Ready";
  document.body.dataset.ready = "1";
}
main();
