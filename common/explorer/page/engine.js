// The engine as the page sees it: questions and promises of answers. It runs in a worker, so that the page stays
// responsive, and so that a run can be stopped.

/// Why the page cannot run kernels in this browser; null if it can.
export function lacking() {
  if (typeof WebAssembly !== "object")
    return "This browser does not have WebAssembly, in which kernels run here. Open the page in a current Chrome, Edge, Firefox or Safari.";
  if (typeof Worker !== "function" || typeof DecompressionStream !== "function")
    return "This browser is too old for this page: kernels run in a worker here. Open the page in a current Chrome, Edge, Firefox or Safari.";
  return null;
}

/// What is packed into the page under an id, as it is unpacked. The browser decodes an address many times faster than a script could.
async function unpack(id, type) {
  const packed = document.getElementById(id)?.textContent.trim();
  if (!packed)
    throw new Error("this page was made without its engine or its data: make it again with `cargo x explorer`");
  const { body } = await fetch(`data:${type};base64,${packed}`);
  return new Response(body.pipeThrough(new DecompressionStream("deflate-raw")), { headers: { "Content-Type": type } });
}

/// The engine's code, compiled while it is unpacked, and once for all workers.
export const unpackEngine = () => WebAssembly.compileStreaming(unpack("explorer-wasm", "application/wasm"));

/// The kernels, and what the chapters say of them.
export const unpackData = async () => (await unpack("explorer-data", "application/json")).json();

/// An instance of the engine in a worker of its own. It holds one run.
export class Engine {
  /// `wasm` is a promise of the engine's code.
  constructor(wasm) {
    this.wasm = wasm;
    this.waiting = new Map();
    this.number = 0;
    this.worker = null;
    this.ready = null;
  }

  /// Starts the worker, if there is none.
  start() {
    if (this.worker) return;
    const source = document.getElementById("explorer-worker").textContent;
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.worker = new Worker(address);
    URL.revokeObjectURL(address);
    this.worker.onmessage = ({ data }) => this.arrived(data);
    this.worker.onerror = (event) =>
      this.end(`the engine failed: ${event.message ?? "the browser does not say why"}; reload the page`);
    this.ready = this.wasm.then((wasm) => this.send({ wasm }));
  }

  async send(message) {
    if (!this.worker) throw new Error("the engine was stopped; run the kernel once more");
    const id = (this.number += 1);
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, ...message });
    });
  }

  arrived({ id, answer, copies, failed }) {
    const asked = this.waiting.get(id);
    this.waiting.delete(id);
    if (!asked) return;
    if (failed) {
      asked.reject(new Error(`the engine failed: ${failed}; choose a smaller size or another kernel`));
      this.end("the engine had to be started again; run the kernel once more");
      return;
    }
    const parsed = JSON.parse(answer);
    if (parsed?.error) asked.reject(new Error(parsed.error));
    else asked.resolve({ answer: parsed, copies });
  }

  /// Asks a question. `arrays` are the numbers of the bulk arrays to bring along.
  async ask(request, arrays = []) {
    this.start();
    await this.ready;
    return this.send({ request, arrays });
  }

  /// Ends the worker, with whatever it is doing. What was asked and not answered fails with `reason`.
  end(reason) {
    this.worker?.terminate();
    this.worker = null;
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const { reject } of waiting) reject(new Error(reason));
  }
}
