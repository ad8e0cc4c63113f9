// Starts the page.

import { lacking, unpackData, unpackEngine } from "./engine.js";
import { Page } from "./page.js";
import { followTheme } from "./theme.js";
import { watchVersion } from "./watch.js";
import { sentenceOf } from "./words.js";

async function startPage() {
  const message = document.getElementById("message");
  const missing = lacking();
  let page = null;
  followTheme(() => page?.redraw());
  try {
    if (missing) throw new Error(missing);
    const wasm = unpackEngine();
    const data = await unpackData();
    page = new Page(data, wasm);
    watchVersion(data);
    window.addEventListener("hashchange", () => page.follow(location.hash));
    await page.follow(location.hash);
    document.documentElement.dataset.ready = "";
    window.explorer = page;
  } catch (error) {
    message.hidden = false;
    message.textContent = sentenceOf(error.message);
    document.documentElement.dataset.ready = "failed";
  }
}

startPage();
