"use strict";
// Runs the analysis outside the page's thread. Each run is a new instance of onnx-estimate, like a new process. Its
// folder contains the dropped files, which it reads in slices.
let compiled = null;
async function start(packed) {
  const bytes = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
  compiled = await WebAssembly.compile(await bytes.arrayBuffer());
}

// Runs `onnx-estimate words… -o result`. `mount` puts files into the tool's folder /models.
async function run_tool(words, ending, mount) {
  const notes = [];
  const tool = await onnx_estimate({
    print: (line) => notes.push(line),
    printErr: (line) => notes.push(line),
    instantiateWasm: (imports, done) => (WebAssembly.instantiate(compiled, imports).then((made) => done(made, compiled)), {}),
  });
  tool.FS.mkdir("/models");
  mount(tool);
  tool.FS.chdir("/models");
  const result = "/result." + ending;
  const code = tool.callMain([...words, "-o", result]);
  const has_result = tool.FS.analyzePath(result).exists;
  return { code, text: has_result ? tool.FS.readFile(result, { encoding: "utf8" }) : "", notes: notes.join("\n") };
}

if (typeof WorkerGlobalScope !== "undefined") {
  let started = null;
  onmessage = async ({ data: { id, packed, words, ending, files } }) => {
    if (packed) return void (started = start(packed));
    const begin = performance.now();
    let answer;
    try {
      await started;
      answer = await run_tool(words, ending, (tool) => tool.FS.mount(tool.WORKERFS, { files }, "/models"));
    } catch (error) {
      answer = { code: 1, text: "", notes: `The analysis stopped: ${error.message ?? error}. Close other tabs where memory is short, or use the command line.` };
    }
    postMessage({ id, ...answer, milliseconds: performance.now() - begin });
  };
}
