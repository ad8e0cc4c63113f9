// What a reader does on the page: keys, threads, panels, questions, two kernels side by side, the theme, a page that
// is made again.

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Opened } from "./browser.mjs";
import { changedPage } from "./trouble.mjs";

/// The keyboard, and choosing another thread.
export async function checkControls(opened, check) {
  const { page } = opened;
  const facts = await opened.follow("#step04_tiled?size=64x64x64");
  await page.locator("body").click({ position: { x: 2, y: 2 } });
  await page.keyboard.press("End");
  await page.waitForFunction((end) => window.explorer.runs[0].time === end, facts.length);
  await page.keyboard.press("Home");
  await page.waitForFunction(() => window.explorer.runs[0].time === 0);
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => window.explorer.runs[0].time > 0);
  const line = await opened.time();
  await page.keyboard.press("Shift+ArrowRight");
  await page.waitForFunction((time) => window.explorer.runs[0].time > time, line);
  check(
    await opened.do(() => window.explorer.runs[0].look.totals.barriers > 0),
    "Shift and the right arrow do not lead to a barrier",
  );
  await page.keyboard.press(" ");
  await page.waitForFunction((time) => window.explorer.runs[0].time > time, await opened.time());
  await page.keyboard.press(" ");
  const stopped = await opened.time();
  await page.waitForTimeout(600);
  check((await opened.time()) - stopped < facts.length / 50, "it goes on after the pause");
  await page.locator("#more-button").click();
  await page.locator(".chip").nth(3).click();
  await page.waitForFunction(() => window.explorer.runs[0].chosen.warp === 3);
  await opened.state();
  check(
    (await page.locator(".chip[aria-pressed=true]").allTextContents()).join() === "3",
    "the chosen warp is not marked",
  );
  const live = await page.locator("#sentence").textContent();
  check(/block|executed|line/i.test(live), `the live region says: ${live}`);
  await page.locator("#travel input[type=range]").fill(String(Math.floor(facts.length / 2)));
  await page.waitForFunction((time) => window.explorer.runs[0].time === time, Math.floor(facts.length / 2));
}

/// Names for those who do not see the page, and room for those who do.
export async function checkNames(opened, check) {
  const nameless = await opened.do(() =>
    [...document.querySelectorAll("button, select, input, canvas")]
      .filter(
        (one) =>
          !one.hidden &&
          !(
            one.getAttribute("aria-label") ||
            one.textContent.trim() ||
            one.labels?.length ||
            one.getAttribute("aria-hidden") ||
            one.title
          ),
      )
      .map((one) => one.outerHTML.slice(0, 80)),
  );
  check(nameless.length === 0, `without a name: ${nameless.join(", ")}`);
  for (const [width, height] of [
    [1200, 900],
    [720, 760],
    [390, 800],
  ]) {
    await opened.page.setViewportSize({ width, height });
    for (const panel of ["matrices", "request", "registers", "fragments", "counts", "hazards"]) {
      await opened.do((panel) => window.explorer.choosePanel(panel), panel);
      await opened.state().catch(() => null);
      const wide = await opened.do(() => document.documentElement.scrollWidth);
      check(wide <= width, `the page is ${wide} pixels wide on a screen of ${width}, with the panel ${panel}`);
      const visible = await opened.do((panel) => {
        const box = document.querySelector(`.panel:nth-of-type(n).chosen`)?.getBoundingClientRect();
        return box ? box.width > 100 && box.height > 12 : panel;
      }, panel);
      check(visible === true, `the panel ${panel} is not shown at ${width} pixels`);
    }
  }
  await opened.page.setViewportSize({ width: 1200, height: 900 });
}

/// The tours: nothing is told before a number is given, the number is kept, and what is said is what was counted.
export async function checkPredict(opened, chapters, check) {
  const { page } = opened;
  let asked = 0;
  for (const { id, tour } of chapters) {
    for (const [index, stop] of tour.entries()) {
      await opened.follow(`#${id}?predict=${index + 1}`);
      const text = () => page.locator("#predict").textContent();
      check((await text()).includes(stop.words.replaceAll("`", "")), `${id}: question ${index + 1} is not shown`);
      check(!(await text()).includes("Counted"), `${id}: question ${index + 1} is answered before it is asked`);
      await opened.do(() => window.explorer.choosePanel("counts"));
      check(!(await page.locator(".totals").isVisible()), `${id}: the counts tell the answer of question ${index + 1}`);
      const field = page.locator("#predict .prediction input");
      await field.fill("no number");
      await field.press("Enter");
      check((await text()).includes("Type a number."), `${id}: question ${index + 1} takes what is no number`);
      await field.fill("987654");
      await field.press("Enter");
      await page.waitForSelector("#predict .not, #predict .right, #predict .fault:not(.prediction *)");
      const counted = await opened.do((stop) => window.explorer.runs[0]?.count(stop), stop);
      const digits = (value) =>
        Number.isInteger(value) ? value.toLocaleString("en-US") : String(Math.round(value * 100) / 100);
      check(typeof counted?.value === "number", `${id}: question ${index + 1} has no answer: ${await text()}`);
      if (typeof counted?.value !== "number") continue;
      check(
        (await text()).includes(`Counted: ${digits(counted.value)}`),
        `${id}: question ${index + 1} says ${await text()}, and counted is ${counted.value}`,
      );
      check((await text()).includes("Not quite."), `${id}: question ${index + 1} takes 987654 for right`);
      await page.getByRole("button", { name: "Predict again" }).click();
      await page.locator("#predict .prediction input").fill(String(counted.value));
      await page.locator("#predict .prediction input").press("Enter");
      await page.waitForSelector("#predict .right");
      asked += 1;
      if (counted.time === null) continue;
      await page.getByRole("button", { name: "Show me where" }).click();
      await page.waitForFunction((time) => window.explorer.runs[0].time === time, counted.time);
    }
  }
  // In the second of three launches: the stop leads there, only lines that it names count, and a keyboard goes on where it was.
  await opened.follow("#step06_prefetch/tensor_cores?form=64p16v1&size=64x64x64&predict=1");
  check(await opened.do(() => window.explorer.runs[0].look.product !== null), "the tour of the tensor cores leads to no product");
  await page.getByRole("button", { name: "Predict again" }).click();
  await page.locator("#predict .prediction input").fill("576");
  await page.locator("#predict .prediction input").press("Enter");
  await page.waitForSelector("#predict .right:focus");
  const kept = await opened.do(
    () => Object.keys(JSON.parse(localStorage.getItem("explorer-predictions") ?? "{}")).length,
  );
  check(kept === asked, `${kept} predictions are kept of ${asked}`);
  return `${asked} questions`;
}

/// Two kernels side by side, on the same data.
export async function checkCompare(opened, check) {
  await opened.follow("#step04_tiled?size=64x64x64&with=step04_tiled/bank_conflicts&panel=request");
  const both = (pick) => opened.do(`window.explorer.runs.map((run) => (${pick})(run))`);
  check(
    (await both("(run) => run.kernel.id")).join() === "step04_tiled,step04_tiled/bank_conflicts",
    "there are not two runs",
  );
  const [first, second] = await both("(run) => run.values.a.join()");
  check(first === second, "the two runs have different elements of A");
  const before = await both("(run) => run.time");
  await opened.step(1, "line");
  const after = await both("(run) => run.time");
  check(
    after.every((time, run) => time > before[run]),
    `a step does not move both: from ${before} to ${after}`,
  );
  const lengths = await both("(run) => run.facts.length");
  await opened.jump(Math.floor(lengths[0] / 2));
  const [here, there] = await both("(run) => run.look.totals.fma_threads");
  check(here > 0 && Math.abs(here - there) <= 32, `${here} and ${there} multiply-adds at the same point`);
  await opened.jump();
  check((await both("(run) => run.time")).join() === lengths.join(), "the two do not end together");
  check((await opened.page.locator(".view").count()) === 2, "there are not two views");
}

/// The book's theme reaches a page in its frame.
export async function checkFrame(browser, html, check) {
  const context = await browser.newContext({ viewport: { width: 900, height: 900 } });
  const book =
    '<html class="navy" style="--bg: rgb(22, 25, 35); --fg: #bcbdd0"><body><iframe src="explorer.html#step04_tiled" style="width: 720px; height: 760px"></iframe></body></html>';
  await context.route("http://book.test/**", (route) =>
    route.fulfill({ contentType: "text/html", body: route.request().url().includes("explorer") ? html : book }),
  );
  const page = await context.newPage();
  await page.goto("http://book.test/chapter.html");
  const frame =
    page.frames().find((one) => one.url().includes("explorer")) ?? (await page.waitForEvent("framenavigated"));
  await frame.waitForSelector("html[data-ready]", { state: "attached" });
  const look = () =>
    frame.evaluate(() =>
      [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor].join(" "),
    );
  check((await look()) === "dark rgb(22, 25, 35)", `in a dark book the page is ${await look()}`);
  await page.evaluate(() => {
    document.documentElement.className = "light";
    document.documentElement.style.setProperty("--bg", "rgb(255, 255, 255)");
  });
  await page.waitForTimeout(200);
  check((await look()) === "light rgb(255, 255, 255)", `after a change to light the page is ${await look()}`);
  await context.close();
}

/// A page that is made again whenever the kernel is saved: it asks the script beside it, and reloads itself.
export async function checkWatching(browser, html, check) {
  const address = changedPage(html, (data) =>
    Object.assign(data, { version_script: "page.version.js", version_text: "first" }),
  );
  const script = fileURLToPath(new URL("page.version.js", address));
  writeFileSync(script, 'window.explorerVersion = "first";');
  const opened = await Opened.at(browser, `${address}#step04_tiled?size=32x32x32`);
  await opened.do(() => {
    window.sameAsBefore = true;
  });
  await opened.page.waitForTimeout(1500);
  check(await opened.do(() => window.sameAsBefore === true), "it reloads without a new version");
  writeFileSync(fileURLToPath(address), html);
  writeFileSync(script, 'window.explorerVersion = "second";');
  await opened.page.waitForFunction(() => window.sameAsBefore === undefined);
  await opened.page.waitForSelector("html[data-ready]", { state: "attached" });
  check(
    (await opened.do(() => location.hash)).startsWith("#step04_tiled?size=32x32x32"),
    "after reloading it shows something else",
  );
  check(opened.complaints.length === 0, opened.complaints.join("; "));
  await opened.close();
}
