// Hazards as pictures, the switch between a lucky and an unlucky order, strips of time, and pasted PTX.

/// Kernels with a race, and where a barrier is missing.
const RACES = ["step04_tiled/no_second_barrier", "step04_tiled/no_first_barrier"];

/// The picture that is drawn: where the accesses and the missing barrier lie, and its words.
const pictureOf = (opened) =>
  opened.do(() => {
    const root = document.querySelector(".hazard-picture");
    const { bottom } = root.getBoundingClientRect();
    const all = (selector) => [...root.querySelectorAll(selector)];
    return {
      accesses: all("circle").map((one) => Number(one.getAttribute("cx"))),
      barriers: all("line.missing").map((one) => Number(one.getAttribute("x1"))),
      dashed: all("line.missing").every((one) => getComputedStyle(one).strokeDasharray !== "none"),
      held: [".old + text", ".new + text"].map((selector) => root.querySelector(selector).textContent),
      words: all("text").map((one) => one.textContent),
      label: root.getAttribute("aria-label"),
      bottom,
    };
  });

/// The hazard at which the run stands: what the cell holds before and after it, and whether its element is wrong at the end.
const traced = (opened) =>
  opened.do(async () => {
    const { travel, runs } = window.explorer;
    const [run] = runs;
    const shown = document.querySelector(".hazard [aria-pressed=true]").textContent;
    const number = run.facts.hazards.findIndex(({ kind, place }) => `${kind}: ${place}` === shown);
    const picture = await run.hazard(number);
    const { cell, first, second, element } = picture;
    const writer = second.action.startsWith("read") ? first : second;
    const held = [];
    for (const time of [writer.time - 1, writer.time]) {
      await travel.jump(time);
      held.push(run.values.shared[cell.word]);
    }
    await travel.jump(run.facts.length);
    const at = element ? element[0] * run.facts.n + element[1] : null;
    const wrong = at === null ? null : !(Math.abs(run.values.c[at] - run.values.expected[at]) <= 1e-3);
    return { picture, held, wrong };
  });

/// A race: both threads, the cell, the missing barrier between the two accesses, and the element that goes wrong.
async function checkRace(opened, id, check) {
  // It opens on a race between warps that spoils the product.
  await opened.follow(`#${id}`);
  await opened.page.waitForSelector(".hazard-picture");
  await opened.drawn();
  const drawn = await pictureOf(opened);
  const says = await opened.page.locator("#sentence").textContent();
  const { picture, held, wrong } = await traced(opened);
  const [first, second] = drawn.accesses;
  check(drawn.accesses.length === 2 && first < second, `${id}: accesses are drawn at ${drawn.accesses}`);
  check(
    drawn.barriers.length === 1 && drawn.dashed && (picture.missing.keeps === "first" ? drawn.barriers[0] < first : first < drawn.barriers[0] && drawn.barriers[0] < second),
    `${id}: the missing barrier is drawn at ${drawn.barriers}, and keeps the ${picture.missing.keeps} of ${drawn.accesses}`,
  );
  check(drawn.held[1].includes(String(Number(held[1].toPrecision(5)))), `${id}: the new value is ${held[1]}, and the picture says ${drawn.held[1]}`);
  check(
    picture.old.value === null || drawn.held[0].includes(String(Number(held[0].toPrecision(5)))),
    `${id}: the old value is ${held[0]}, and the picture says ${drawn.held[0]}`,
  );
  check(picture.wrong && picture.first.warp !== picture.second.warp, `${id} opens on a race of no consequence`);
  check(picture.wrong === wrong, `${id}: the element is said to be ${picture.wrong ? "wrong" : "right"}, and is not`);
  check(
    drawn.words.some((words) => new RegExp(wrong ? "is wrong" : "by luck").test(words)),
    `${id}: of the element the picture says: ${drawn.words.join(" | ")}`,
  );
  check(drawn.bottom <= opened.page.viewportSize().height, `${id}: the picture reaches down to ${drawn.bottom}`);
  check(says.includes(`Here is a hazard: data race, ${picture.cell.name}.`), `${id}: the picture is of ${picture.cell.name}, and the page says: ${says}`);
  check(/First warp \d+ .* then warp \d+ /.test(drawn.label), `${id}: to those who do not see it, the picture says: ${drawn.label}`);
}

/// The same kernel in an order in which it is right, and in one in which it is wrong.
async function checkWitness(opened, id, check) {
  const { page } = opened;
  const { hazards } = await opened.follow(`#${id}?panel=hazards`);
  const time = await opened.time();
  check(hazards.some((hazard) => hazard.time === time), `${id}: its panel of hazards opens at ${time}, where no hazard is`);
  await page.getByRole("button", { name: "Find an order" }).click();
  for (const [name, right] of [
    ["The lucky run", true],
    ["The unlucky run", false],
    ["The lucky run", true],
  ]) {
    const button = page.getByRole("button", { name });
    await button.click();
    await page.waitForFunction(
      (name) => [...document.querySelectorAll(".orders button")].find((one) => one.textContent === name)?.getAttribute("aria-pressed") === "true",
      name,
    );
    const { outcome, hazards } = await opened.facts();
    check(outcome.right === right, `${id}: ${name} is ${outcome.right ? "right" : "wrong"}`);
    check(hazards.length > 0, `${id}: ${name} has no hazards`);
  }
}

/// A race that does no harm in the order that the address names: without a panel the page looks for a witness by itself, and opens on
/// the order in which the product is wrong.
async function checkSearch(opened, id, check) {
  const { page } = opened;
  await opened.follow(`#${id}?panel=hazards`);
  const { lucky, unlucky } = await opened.do(() => window.explorer.runs[0].witness());
  const still = await opened.follow(`#${id}?panel=hazards&order=${encodeURIComponent(lucky)}`);
  check(still.outcome.right && still.order === lucky, `${id}: asked for the lucky order, it runs ${still.order}`);
  check(await page.getByRole("button", { name: "Find an order" }).isVisible(), `${id}: nothing offers to look for a witness`);
  const found = await opened.follow(`#${id}?order=${encodeURIComponent(lucky)}`);
  check(!found.outcome.right && found.order === unlucky, `${id}: it opens on ${found.order}, which is ${found.outcome.right ? "right" : "wrong"}`);
  await page.waitForSelector(".hazard-picture");
  await opened.drawn();
  const pressed = await page.locator(".orders [aria-pressed=true]").allTextContents();
  check(pressed.join() === "The unlucky run", `${id}: after the search it shows ${pressed}`);
  const time = await opened.time();
  check(found.hazards.some((hazard) => hazard.time === time), `${id}: after the search it stands at ${time}, where no hazard is`);
}

/// Strips of time: they say that they are a model, follow the latencies, and stand side by side.
async function checkStrips(opened, check) {
  const { page } = opened;
  await opened.follow("#step06_prefetch/2_async_copies?size=16x32x64&panel=time");
  const figures = () => page.locator(".strips figcaption").allTextContents();
  const clocks = async () => Number((await figures())[0].replace(/^.*?: ([\d,]+) clock.*$/, "$1").replaceAll(",", ""));
  await page.waitForSelector(".strips figure");
  check(/A model, not a measurement\./.test(await page.locator(".time-panel").textContent()), "nothing says that it is a model");
  const slow = await clocks();
  const gaps = await opened.do(async () => {
    const { warps } = await window.explorer.runs[0].strips({ block: 0, launch: 0 });
    return warps.filter(({ segments, end }) => segments.some(([from, , what], at) => from !== (segments[at - 1]?.[1] ?? 0) || what === segments[at - 1]?.[2]) || segments.at(-1)[1] !== end).length;
  });
  check(gaps === 0, `${gaps} strips have gaps`);
  await page.locator("[data-latency=global]").fill("100");
  await page.locator("[data-latency=global]").press("Enter");
  await page.waitForFunction((slow) => !document.querySelector(".strips figcaption").textContent.includes(slow.toLocaleString("en-US")), slow);
  check((await clocks()) < slow, `with less latency it takes ${await clocks()} clocks in place of ${slow}`);
  await page.locator("[data-latency=global]").fill("600");
  await page.locator("[data-latency=global]").press("Enter");
  for (const name of ["single_buffer", "1_two_buffers"]) await page.getByLabel(name, { exact: true }).check();
  await page.waitForFunction(() => document.querySelectorAll(".strips figure").length === 3);
  const all = await figures();
  const waits = all.map((text) => Number(/(\d+) % for memory/.exec(text)?.[1]));
  const single = all.findIndex((text) => text.startsWith("single_buffer"));
  check(waits[single] > waits[0], `waiting for memory: ${all.join("; ")}`);
  check(/, measured: [\d.,]+ ms for .* on an NVIDIA .* \(\d{4}-\d\d-\d\d\)/.test(await page.locator(".measured").textContent()), "no measured time stands beside the strips");
  // The tour's strips are all seen in the book's frame, below its question and beside the source.
  const tour = await opened.do(() => window.explorer.chapter.tour.findIndex(({ panel }) => panel === "time"));
  await opened.follow(`#step06_prefetch?predict=${tour + 1}`);
  await page.waitForFunction(() => document.querySelectorAll(".strips figure").length === 3);
  const lowest = await opened.do(() => Math.max(...[...document.querySelectorAll(".strips canvas")].map((one) => one.getBoundingClientRect().bottom)));
  check(lowest <= 760, `the lowest strip of the tour ends at ${lowest}`);
  // Warps that share a scheduler come to a barrier one after the other.
  await opened.follow("#step06_prefetch/single_buffer?size=64x64x64&form=64x128v4&panel=time");
  await page.locator("[data-latency=schedulers]").fill("1");
  await page.locator("[data-latency=schedulers]").press("Enter");
  await page.waitForFunction(() => / [1-9]\d* % at barriers/.test(document.querySelector(".strips figcaption")?.textContent));
}

/// PTX that is pasted, with a launch, runs like any other kernel; what cannot be launched is refused in a sentence.
async function checkPaste(opened, check) {
  const { page } = opened;
  await opened.follow("#step04_tiled/no_second_barrier?size=64x64x64&form=usual");
  const racy = await opened.do(() => window.explorer.runs[0].form.ptx);
  await opened.follow("#step02_gpu_naive");
  const ptx = await opened.do(() => window.explorer.runs[0].form.ptx);
  await page.locator("#more-button").click();
  await page.locator("#paste summary").click();
  const says = () => page.locator("#paste [role=alert]").textContent();
  const taken = await opened.do(() => {
    const [field, clipboardData] = [document.querySelector("#paste textarea"), new DataTransfer()];
    clipboardData.setData("text/plain", "// a long text\n".repeat(30_000));
    const begun = performance.now();
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    return { characters: field.value.length, ms: performance.now() - begun };
  });
  check(taken.characters === 450_000 && taken.ms < 5000, `of 450,000 pasted characters ${taken.characters} are taken over in ${taken.ms} ms`);
  await page.locator("#paste textarea").evaluate((field) => (field.value = ""));
  await page.locator("#paste textarea").fill("this is no PTX");
  await page.getByRole("button", { name: "What can be launched?" }).click();
  await page.waitForFunction(() => document.querySelector("#paste [role=alert]").textContent !== "");
  check(/^[A-Z].*\.$/.test(await says()), `of what is no PTX it says: ${await says()}`);
  await page.locator("#paste textarea").fill(ptx);
  await page.getByRole("button", { name: "What can be launched?" }).click();
  await page.locator("[data-launch=args]").waitFor();
  for (const [field, text] of [
    ["grid", "abc"],
    ["grid", ""],
    ["grid", "1 1 1 1"],
    ["block", "-3"],
    ["shared_bytes", "1.5"],
    ["args", "A B C M N 1.5"],
  ]) {
    const input = page.locator(`[data-launch=${field}]`);
    const before = await input.inputValue();
    await input.fill(text);
    await page.getByRole("button", { name: "Run it" }).click();
    await page.waitForFunction(() => document.querySelector("#paste [role=alert]").textContent !== "");
    const label = { grid: "Grid", block: "Block", shared_bytes: "Dynamic shared memory" }[field];
    check((await says()).includes(label ? `"${label}` : "whole number"), `of "${text}" as ${field} it says: ${await says()}`);
    await input.fill(before);
  }
  await page.locator("[data-launch=size]").fill("16 32 16");
  await page.locator("[data-launch=grid]").fill("1");
  await page.locator("[data-launch=block]").fill("32 16");
  await page.getByRole("button", { name: "Run it" }).click();
  await page.waitForFunction(() => window.explorer.runs[0]?.kernel.id === "pasted");
  const facts = await opened.facts();
  check(facts.outcome.right, `the pasted kernel gives ${JSON.stringify(facts.outcome)}`);
  await page.waitForFunction(() => document.getElementById("more").hidden).catch(() => null);
  await opened.drawn();
  for (const part of [".matrices canvas", ".lines li.current"]) {
    const box = await page.locator(part).boundingBox();
    check(box !== null && box.y >= 0 && box.y + box.height <= 760, `after Run it, ${part} lies at ${JSON.stringify(box)}`);
  }
  await opened.step(1, "step");
  await opened.drawn();
  const sentence = () => page.locator("#sentence").textContent();
  check(/warp \d+ (loads|reads|multiplies)/.test(await sentence()), "nothing is said of the pasted kernel");
  // The same with a C that may become anything; and one with a race.
  const paste = async (fields, text) => {
    await page.locator("#more-button").click();
    await page.locator("#paste textarea").fill(text);
    await page.getByRole("button", { name: "What can be launched?" }).click();
    for (const [field, value] of Object.entries(fields))
      if (field === "output") await page.locator("[data-launch=output]").selectOption(value);
      else await page.locator(`[data-launch=${field}]`).fill(value);
    await page.getByRole("button", { name: "Run it" }).click();
    await page.waitForFunction(() => document.getElementById("more").hidden);
    await opened.drawn();
  };
  await paste({ size: "16 32 16", grid: "1", block: "32, 8", output: "any" }, ptx);
  await opened.jump();
  await opened.drawn();
  check(/come to its end/.test(await sentence()), `of a C that may become anything it says: ${await sentence()}`);
  await paste({ size: "32 32 64", grid: "1", block: "32 32" }, racy);
  await page.waitForFunction(() => /Here is a hazard/.test(document.getElementById("sentence").textContent)).catch(() => null);
  check(await page.locator(".hazard-picture").isVisible(), "a pasted race is not shown");
  check(/Here is a hazard/.test(await sentence()), `of a pasted race it says: ${await sentence()}`);
  // One that reads past the end of A opens there.
  await paste({ size: "16 32 16", grid: "1", block: "32 16", args: "C, B, A, M, N, 64" }, ptx);
  await page.waitForFunction(() => /Fault of the kernel/.test(document.getElementById("sentence").textContent)).catch(() => null);
  check(/Fault of the kernel/.test(await sentence()), `of a pasted kernel with a fault it says: ${await sentence()}`);
}

/// All of it.
export async function checkPictures(opened, check) {
  await opened.page.setViewportSize({ width: 700, height: 760 });
  for (const id of RACES) {
    await checkRace(opened, id, check);
    await checkWitness(opened, id, check);
    await checkSearch(opened, id, check);
  }
  await checkStrips(opened, check);
  await checkPaste(opened, check);
}
