// Tests of the explorer in a browser: node run.mjs PAGE.html NATIVE.json [OWN.html] [--only GROUP]
//
// PAGE.html is the packed page, NATIVE.json what `cargo x explorer --native` writes, OWN.html a page that `cargo
// course explore` wrote for a kernel of the learner's own. `node faults.mjs PAGE.html NATIVE.json` plants a fault for
// each group and sees that it is found.

import { readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Opened, startBrowser } from "./browser.mjs";
import { checkFirstMinute } from "./first.mjs";
import { checkMeaning } from "./meaning.mjs";
import { checkNative } from "./native.mjs";
import { checkPictures } from "./pictures.mjs";
import { Report } from "./report.mjs";
import { checkChapter, checkEverywhere, scrubbing } from "./time.mjs";
import { checkBadInput, checkEndless, checkLacking, checkNoStorage } from "./trouble.mjs";
import { checkCompare, checkControls, checkFrame, checkNames, checkPredict, checkWatching } from "./use.mjs";

/// How much memory a run of step 4 at 64×64×64 may take.
const MOST_BYTES = 50e6;

const words = process.argv.slice(2);
const only = words.includes("--only") ? words.splice(words.indexOf("--only"), 2)[1] : null;
const [pageFile, nativeFile, ownFile] = words;
if (!pageFile || !nativeFile) {
  console.error("usage: node run.mjs PAGE.html NATIVE.json [OWN.html] [--only GROUP]");
  process.exit(2);
}
const html = readFileSync(pageFile, "utf8");
const address = pathToFileURL(path.resolve(pageFile)).href;
const native = JSON.parse(readFileSync(nativeFile, "utf8"));
const report = new Report(only);
const browser = await startBrowser().catch((error) => {
  console.error(error.message);
  process.exit(2);
});

/// Opens the page for a group of checks, which also fails for whatever the browser complains of.
const withPage = (name, body) =>
  report.group(name, async (check) => {
    const opened = await Opened.at(browser, address);
    try {
      const note = await body(opened, check);
      check(opened.complaints.length === 0, opened.complaints.join("; "));
      return note;
    } finally {
      await opened.close();
    }
  });

await report.group("opening", async (check) => {
  const times = [];
  for (let time = 0; time < 3; time += 1) {
    const opened = await Opened.at(browser, address);
    times.push(await opened.do(() => performance.now()));
    check((await opened.facts())?.outcome.right === true, `the page opens without a run: ${await opened.message()}`);
    check(opened.complaints.length === 0, opened.complaints.join("; "));
    await opened.close();
  }
  return `interactive, with its first run, after ${times.map((time) => `${Math.round(time)} ms`).join(", ")}; ${Math.round(html.length / 1000)} kB`;
});

await report.group("first minute", (check) => checkFirstMinute(browser, address, check));

const chaptersOf = (opened) =>
  opened.do(() => window.explorer.data.chapters.map(({ id, tour }) => ({ id, tour })));

await withPage("forward and back", async (opened, check) => {
  const lengths = [];
  for (const chapter of await chaptersOf(opened))
    lengths.push(`${chapter.id} ${await checkChapter(opened, chapter, check)}`);
  return `instructions: ${lengths.join(", ")}`;
});
await withPage("meaning", checkMeaning);
await withPage("pictures", checkPictures);
await withPage("everywhere", checkEverywhere);
await withPage("as natively", (opened, check) => checkNative(opened, native, check));
await withPage("scrubbing", async (opened, check) => {
  const { median, worst, bytes } = await scrubbing(opened, "#step04_tiled?size=64x64x64&order=turns");
  check(bytes < MOST_BYTES, `step 4 at 64×64×64 takes ${bytes} bytes`);
  // A hundred would do on a quiet machine; what is looked for here is work that grows with the run.
  check(median < 1000, `going to another time takes ${median} ms`);
  return `a frame takes ${median.toFixed(1)} ms (median), ${worst.toFixed(1)} ms at worst; ${(bytes / 1e6).toFixed(1)} MB`;
});
await withPage("controls", checkControls);
await withPage("names and room", checkNames);
await withPage("predict", (opened, check) =>
  chaptersOf(opened).then((chapters) => checkPredict(opened, chapters, check)),
);
await withPage("compare", checkCompare);
await report.group("endless kernel", (check) => checkEndless(browser, html, check));
await report.group("bad input", (check) => checkBadInput(browser, html, check));
await report.group("without WebAssembly", (check) => checkLacking(browser, address, check));
await report.group("without storage", (check) => checkNoStorage(browser, address, check));
await report.group("in the book's frame", (check) => checkFrame(browser, html, check));
await report.group("watching", (check) => checkWatching(browser, html, check));
if (ownFile) {
  await report.group("a learner's page", async (check) => {
    const opened = await Opened.at(browser, pathToFileURL(path.resolve(ownFile)).href);
    const shown = await opened.do(() => ({ id: window.explorer.runs[0]?.kernel.id, own: window.explorer.data.own }));
    check(shown.own !== null && shown.id === shown.own, `it shows ${shown.id}, and its own kernel is ${shown.own}`);
    check((await opened.facts())?.length > 0, `the kernel does not run: ${await opened.message()}`);
    await opened.jump();
    check(
      /The product|instructions|fault/.test(await opened.page.locator("#sentence").textContent()),
      "it does not say how the run ended",
    );
    const asked = opened.complaints.filter((complaint) => !/version/.test(complaint));
    check(asked.length === 0, asked.join("; "));
    await opened.close();
  });
}

await browser.close();
process.exit(report.end());
