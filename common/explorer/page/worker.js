// Runs in a worker of its own: holds one instance of the engine, and passes requests and answers between it and the
// page.

let engine = null;

/// Asks the engine. Its answer is text; `arrays` are the bulk arrays that the page wants a copy of.
function ask(request, arrays) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const room = engine.reserve(bytes.length);
  new Uint8Array(engine.memory.buffer, room, bytes.length).set(bytes);
  const length = engine.call(bytes.length);
  const answer = new TextDecoder().decode(new Uint8Array(engine.memory.buffer, engine.answer(), length));
  const copies = {};
  for (const which of arrays) {
    const words = engine.bulk_words(which);
    copies[which] = engine.memory.buffer.slice(engine.bulk(which), engine.bulk(which) + 4 * words);
  }
  return { answer, copies };
}

onmessage = async ({ data }) => {
  try {
    if (data.wasm) {
      engine = (await WebAssembly.instantiate(data.wasm)).exports;
      postMessage({ id: data.id, answer: "{}", copies: {} });
      return;
    }
    const { answer, copies } = ask(data.request, data.arrays);
    postMessage({ id: data.id, answer, copies }, Object.values(copies));
  } catch (error) {
    postMessage({ id: data.id, failed: String(error.message ?? error) });
  }
};
