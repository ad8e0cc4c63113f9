// A browser with the explorer in it, and what the checks need of it. Chromium is found by CHROMIUM, or where Linux has
// it; playwright-core by PLAYWRIGHT, or where Node finds it.

import { existsSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/// Starts the browser.
export async function startBrowser() {
  const library = process.env.PLAYWRIGHT
    ? pathToFileURL(path.join(process.env.PLAYWRIGHT, "index.mjs")).href
    : "playwright-core";
  const { chromium } = await import(library).catch(() => {
    throw new Error(
      "there is no playwright-core: run `npm install playwright-core`, or name the folder in which it lies in PLAYWRIGHT",
    );
  });
  const executablePath = process.env.CHROMIUM ?? PLACES.find((place) => existsSync(place));
  if (!executablePath) throw new Error("there is no Chromium: install it, or name it in CHROMIUM");
  return chromium.launch({ executablePath, args: ARGUMENTS });
}

/// A page in a context of its own. What it says on its console, and what it asks of a network, is kept in `complaints`.
export class Opened {
  static async at(browser, address, options = {}) {
    const opened = new Opened();
    opened.context = await browser.newContext({
      viewport: { width: options.width ?? 1200, height: options.height ?? 900 },
      colorScheme: options.scheme ?? "light",
      reducedMotion: options.motion ?? "no-preference",
      hasTouch: options.touch ?? false,
    });
    opened.complaints = [];
    opened.page = await opened.context.newPage();
    opened.page.setDefaultTimeout(20_000);
    opened.page.on(
      "console",
      (message) =>
        ["error", "warning"].includes(message.type()) && opened.complaints.push(`console: ${message.text()}`),
    );
    opened.page.on("pageerror", (error) => opened.complaints.push(`error: ${error.message}`));
    opened.page.on("requestfailed", (request) => opened.complaints.push(`request failed: ${request.url()}`));
    opened.context.on(
      "request",
      (request) => !/^(file|blob|data):/.test(request.url()) && opened.complaints.push(`network: ${request.url()}`),
    );
    if (options.script) await opened.context.addInitScript(options.script);
    await opened.page.goto(address);
    await opened.page.waitForSelector("html[data-ready]", { state: "attached" });
    return opened;
  }

  /// Runs in the page, with the page's own object (`explorer`) and `given`.
  do(action, given) {
    return this.page.evaluate(action, given);
  }

  /// Follows a fragment, and returns what the page then says.
  async follow(fragment) {
    await this.do((hash) => window.explorer.follow(hash), fragment);
    return this.facts();
  }

  /// What the first run found; null if there is none.
  facts() {
    return this.do(() => window.explorer.runs[0]?.facts ?? null);
  }

  /// Waits until what is known has been drawn.
  drawn() {
    return this.do(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }

  /// Everything that is known at the present time: the engine's answer, the arrays, and the pixels that are drawn.
  async state() {
    await this.drawn();
    return this.do(() => {
      const { runs } = window.explorer;
      const arrays = runs.map((run) =>
        Object.fromEntries(
          Object.entries(run.values).map(([name, values]) => [name, Array.from(new Uint32Array(values.buffer)).join()]),
        ),
      );
      return JSON.stringify({
        looks: runs.map((run) => run.look),
        arrays,
        drawn: document.querySelector(".matrices canvas").toDataURL(),
        sentence: document.getElementById("sentence").textContent,
      });
    });
  }

  time() {
    return this.do(() => window.explorer.runs[0].time);
  }

  step(way, unit) {
    return this.do(([way, unit]) => window.explorer.travel.step(way, unit), [way, unit]);
  }

  jump(time) {
    return this.do((time) => window.explorer.travel.jump(time ?? Infinity), time);
  }

  message() {
    return this.do(() =>
      document.getElementById("message").hidden ? null : document.getElementById("message").textContent,
    );
  }

  close() {
    return this.context.close();
  }
}
