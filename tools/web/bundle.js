// bundle.js ONNX_ESTIMATE.js MODEL OUT.html: packs everything into one file, with a content security policy that allows
// exactly its own scripts and no network access. The pages that it shows inherit the policy, so it includes their
// hashes.
"use strict";
const fs = require("fs"), path = require("path"), vm = require("vm"), crypto = require("crypto"), zlib = require("zlib");
const [tool, model, out] = process.argv.slice(2).map((name) => path.resolve(name));
const read = (name) => fs.readFileSync(path.join(__dirname, name), "utf8");
const hash = (text) => `'sha256-${crypto.createHash("sha256").update(text).digest("base64")}'`;
const packed = (bytes) => zlib.gzipSync(bytes, { level: 9 }).toString("base64");

// The hashes from the policy of a page that onnx-estimate writes.
async function page_hashes(binary) {
  const context = vm.createContext({ WebAssembly, process, require, performance, TextDecoder, TextEncoder, console, __dirname: path.dirname(tool), setTimeout });
  vm.runInContext(`${fs.readFileSync(tool, "utf8")}\n${read("worker.js")}`, context);
  context.module_bytes = new WebAssembly.Module(binary);
  vm.runInContext("compiled = module_bytes", context);
  const bytes = fs.readFileSync(model), name = path.basename(model);
  const answer = await context.run_tool([name, "--device", "h200"], "html", (made) => made.FS.writeFile("/models/" + name, bytes));
  if (answer.code !== 0) throw Error(`onnx-estimate ended with ${answer.code}: ${answer.notes}`);
  const policy = answer.text.match(/Content-Security-Policy" content="([^"]*)"/)[1];
  return ["script-src", "style-src"].map((kind) => policy.match(new RegExp(`${kind} ('sha256-[^']+')`))[1]);
}

(async () => {
  const binary = fs.readFileSync(tool.replace(/\.js$/, ".wasm"));
  const [page_script, page_style] = await page_hashes(binary);
  const script = read("app.js"), style = read("app.css");
  const parts = {
    POLICY: `default-src 'none'; script-src ${hash(script)} ${page_script} 'wasm-unsafe-eval'; style-src ${hash(style)} ${page_style}; ` +
      "worker-src blob:; frame-src blob:; img-src blob:; base-uri 'none'; form-action 'none'",
    STYLE: style,
    SCRIPT: script,
    WORKER: packed(fs.readFileSync(tool, "utf8") + "\n" + read("worker.js")),
    WASM: packed(binary),
  };
  const html = read("index.html").replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
  fs.mkdirSync(path.dirname(out), { recursive: true });
  fs.writeFileSync(out, html);
  console.log(`${out}: ${(html.length / 1e6).toFixed(2)} MB`);
})().catch((error) => {
  console.error(`bundle.js: ${error.stack}`);
  process.exit(1);
});
