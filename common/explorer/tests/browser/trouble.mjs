// What goes wrong for readers: each is told in a sentence, and the page can be used afterwards.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { Opened } from "./browser.mjs";

const DATA = /(<script type="text\/plain" id="explorer-data">)([\s\S]*?)(<\/script>)/;

/// A page whose data have been changed, as a file of its own.
export function changedPage(html, change) {
  const file = path.join(mkdtempSync(path.join(tmpdir(), "explorer-")), "page.html");
  const changed = html.replace(DATA, (_, open, text, close) => {
    const data = JSON.parse(inflateRawSync(Buffer.from(text, "base64")).toString());
    change(data);
    return open + deflateRawSync(JSON.stringify(data)).toString("base64") + close;
  });
  writeFileSync(file, changed);
  return pathToFileURL(file).href;
}

/// The PTX of a kernel with a statement before everything else that it does.
function beginWith(ptx, statement) {
  const body = ptx.indexOf("{", ptx.indexOf(".entry"));
  const first = ptx.slice(body).search(/\n\s*(ld\.param|mov)/);
  return `${ptx.slice(0, body + first)}\n${statement}${ptx.slice(body + first)}`;
}

const kernelOf = (data, id) => data.kernels.find((kernel) => kernel.id === id);
const isSentence = (text) =>
  typeof text === "string" && /^[A-Z"'`].*[.?]$/s.test(text) && !/undefined|NaN|\[object/.test(text);

/// A kernel that never ends: it is stopped, by the reader or by the limit.
export async function checkEndless(browser, html, check) {
  const address = changedPage(html, (data) => {
    for (const form of kernelOf(data, "step04_tiled").forms)
      form.ptx = beginWith(form.ptx, "$endless: bra.uni $endless;");
  });
  const opened = await Opened.at(browser, `${address}#step02_gpu_naive`);
  opened.do(() => {
    window.explorer.follow("#step04_tiled?size=64x64x64");
  });
  await opened.page.locator("#stop").click();
  await opened.page.waitForFunction(() => !document.getElementById("message").hidden);
  check(
    isSentence(await opened.message()) && /^The run was stopped\./.test(await opened.message()),
    `stopped by the reader, the page says: ${await opened.message()}`,
  );
  const begun = Date.now();
  const facts = await opened.follow("#step04_tiled?size=64x64x64");
  const said = await opened.message();
  check(isSentence(said) && /instructions|end/.test(said), `at the limit, the page says: ${said}`);
  check(!facts || facts.outcome.stopped !== null, "the run that never ends has ended");
  check(
    (await opened.follow("#step02_gpu_naive"))?.outcome.right === true,
    `afterwards nothing runs: ${await opened.message()}`,
  );
  check((await opened.message()) === null, "the message stays");
  check(opened.complaints.length === 0, opened.complaints.join("; "));
  await opened.close();
  return `the limit was reached in ${((Date.now() - begun) / 1000).toFixed(1)} s`;
}

/// Sizes that do not fit, an instruction that is not supported, PTX that is none.
export async function checkBadInput(browser, html, check) {
  const address = changedPage(html, (data) => {
    for (const form of kernelOf(data, "step02_gpu_naive/uncoalesced").forms)
      form.ptx = beginWith(form.ptx, "tex.2d.v4.f32.f32 {%f1,%f1,%f1,%f1}, [nothing, {%f1,%f1}];");
    for (const form of kernelOf(data, "step04_tiled/bank_conflicts").forms) form.ptx = "this is no PTX";
  });
  const opened = await Opened.at(browser, `${address}#step04_tiled`);
  await opened.page.locator("#more-button").click();
  for (const size of [65, 0, 1000]) {
    await opened.page.locator("#side-M").fill(String(size));
    await opened.page.locator("#run").click();
    await opened.page.waitForFunction(() => !document.getElementById("message").hidden);
    check(
      isSentence(await opened.message()) && /64/.test(await opened.message()),
      `for M = ${size} the page says: ${await opened.message()}`,
    );
    await opened.follow("#step04_tiled");
  }
  for (const id of ["step02_gpu_naive/uncoalesced", "step04_tiled/bank_conflicts"]) {
    await opened.follow(`#${id}?size=64x64x64`);
    check(isSentence(await opened.message()), `for bad PTX the page says: ${await opened.message()}`);
  }
  check(
    (await opened.follow("#no_such_step/at_all?size=what&order=none&dtype=f99"))?.length > 0,
    "a fragment that names nothing leads nowhere",
  );
  check(
    (await opened.follow("#step04_tiled"))?.outcome.right === true,
    `afterwards nothing runs: ${await opened.message()}`,
  );
  check(opened.complaints.length === 0, opened.complaints.join("; "));
  await opened.close();
}

/// A browser without WebAssembly.
export async function checkLacking(browser, address, check) {
  const opened = await Opened.at(browser, address, { script: "delete globalThis.WebAssembly;" });
  const said = await opened.message();
  check(isSentence(said) && /WebAssembly/.test(said), `without WebAssembly the page says: ${said}`);
  check(opened.complaints.length === 0, opened.complaints.join("; "));
  await opened.close();
}

/// A browser that keeps nothing: predictions work all the same.
export async function checkNoStorage(browser, address, check) {
  const script = 'Object.defineProperty(window, "localStorage", { get() { throw new Error("no storage"); } });';
  const opened = await Opened.at(browser, `${address}#step04_tiled?predict=1`, { script });
  await opened.page.locator("#predict .prediction input").fill("1");
  await opened.page.locator("#predict .prediction input").press("Enter");
  await opened.page.waitForSelector("#predict .not, #predict .right");
  check(opened.complaints.length === 0, opened.complaints.join("; "));
  await opened.close();
}
