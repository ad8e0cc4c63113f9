// The first minute of a reader who has read only the chapter: what the page opens on, in the book's frame and on a phone.

import { Opened } from "./browser.mjs";

/// How high the book's frame is, and how wide.
const FRAME = { width: 700, height: 760 };
const PHONE = { width: 390, height: 780 };
/// Lines that a warp may execute at most in the runs that a chapter opens on.
const MOST_STEPS = 3000;

/// Where something lies; null if it is not shown.
const boxOf = (opened, selector) =>
  opened.do((selector) => {
    const box = document.querySelector(selector)?.getBoundingClientRect();
    return box && box.height > 0 && box.width > 0
      ? { left: box.left, right: box.right, top: box.top, bottom: box.bottom }
      : null;
  }, selector);

/// What a chapter opens on: one block, at an access of the chosen warp, with three controls.
async function checkOpening(opened, id, check) {
  const first = await opened.do(() => {
    const { facts, look, chosen } = window.explorer.runs[0];
    const said = document.getElementById("sentence").textContent;
    return { blocks: facts.launches[0].blocks, mine: look.event?.warp === chosen.warp, said };
  });
  check(first.blocks === 1, `${id} opens on ${first.blocks} blocks`);
  check(first.mine && /^Line \d+: warp 0 (loads|starts to copy) [AB]\[/.test(first.said), `${id} opens at ${JSON.stringify(first)}`);
  const shown = await opened.do(() =>
    ["#more", "#tabs", "#predict", ".warps", ".registers", ".ptx"].filter((part) => document.querySelector(part)?.offsetHeight > 0),
  );
  check(shown.length === 0, `${id} opens with ${shown.join(", ")}`);
  const buttons = await opened.do(() =>
    [...document.querySelectorAll("#time button")].filter((one) => one.offsetHeight > 0).map((one) => one.id),
  );
  const expected = ["back", "play", "forward", ...(opened.phone ? ["turn"] : []), "ask", "more-button"];
  check(buttons.join() === expected.join(), `${id} opens with the controls ${buttons}`);
  const middles = await opened.do(() =>
    [...document.querySelectorAll("#time button")]
      .map((one) => one.getBoundingClientRect())
      .filter(({ height }) => height > 0)
      .map(({ top, bottom }) => Math.round((top + bottom) / 2)),
  );
  check(Math.max(...middles) - Math.min(...middles) <= 2, `${id}: the controls are not in one row: ${middles}`);
}

/// The matrices and the line of the source can be seen without scrolling.
async function checkSeen(opened, what, check) {
  await opened.drawn();
  const { height } = opened.page.viewportSize();
  for (const part of [".matrices canvas", ".lines li.current"]) {
    const box = await boxOf(opened, part);
    check(box !== null && box.top >= 0 && box.bottom <= height, `${what}: ${part} lies at ${JSON.stringify(box)}`);
  }
}

/// Forward until the warp has ended: it never looks at another one.
async function checkStays(opened, check) {
  const of = () => opened.do(() => [window.explorer.runs[0].chosen.warp, window.explorer.runs[0].look.event?.warp].join());
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const went = await opened.step(1, "step");
    if (!went) break;
    const warps = await of();
    if (warps !== "0,0") return check(false, `after ${step} steps it looks at the warps ${warps}`);
  }
  check((await of()) === "0,0", `at the end it looks at the warps ${await of()}`);
  await opened.drawn();
  const said = await opened.page.locator("#sentence").textContent();
  check(/Warp 0 has ended, and others still run/.test(said), `after the last line it says: ${said}`);
  return undefined;
}

/// The arrow keys point at elements, for those who have no pointer.
async function checkKeys(opened, check) {
  const hint = () => opened.page.locator(".matrices .hint").textContent();
  await opened.page.locator(".matrices canvas").focus();
  const time = await opened.time();
  await opened.page.keyboard.press("ArrowRight");
  check(/^C\[0\]\[0\]/.test(await hint()), `the arrow key points at: ${await hint()}`);
  await opened.page.keyboard.press("ArrowDown");
  check(/^C\[1\]\[0\]/.test(await hint()), `the second arrow key points at: ${await hint()}`);
  check((await opened.time()) === time, "the arrow keys of the matrices move time");
}

/// On a phone, a tap on an element says what it is, and what is said stays when the finger is lifted.
async function checkTap(opened, check) {
  const [x, y] = await opened.do(() => {
    const { x, y, cell } = window.explorer.views[0].panels[0].grids().find(({ name }) => name === "C");
    const { left, top } = document.querySelector(".matrices canvas").getBoundingClientRect();
    return [left + x + 3.5 * cell, top + y + 1.5 * cell];
  });
  await opened.page.touchscreen.tap(x, y);
  await opened.drawn();
  const said = await opened.page.locator(".matrices .hint").textContent();
  check(/^C\[1\]\[3\]/.test(said), `after a tap on C[1][3] it says: ${said}`);
}

/// The values that are written into the cells are those of the elements, and not rounded.
async function checkWritten(opened, check) {
  const { texts, values } = await opened.do(async () => {
    const texts = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
      texts.push(text);
      return fillText.call(this, text, ...at);
    };
    window.explorer.redraw();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    CanvasRenderingContext2D.prototype.fillText = fillText;
    return { texts, values: [...window.explorer.runs[0].values.a] };
  });
  const held = new Set(values);
  const written = texts.map(Number).filter((number) => !Number.isNaN(number));
  check(written.length >= values.length, `${written.length} values are written of ${values.length} in A alone`);
  const others = written.filter((number) => !held.has(number));
  check(others.length === 0, `elements of A are quarters, and the cells say ${others.slice(0, 5)}`);
}

/// Everything of the first minute.
export async function checkFirstMinute(browser, address, check) {
  for (const id of ["step02_gpu_naive", "step03_single_block", "step04_tiled", "step05_thread_tile", "step06_prefetch"]) {
    for (const [size, scheme] of [
      [FRAME, "light"],
      [PHONE, "dark"],
    ]) {
      const opened = await Opened.at(browser, `${address}#${id}`, { ...size, scheme, motion: "reduce", touch: size === PHONE });
      opened.phone = size === PHONE;
      await opened.drawn();
      await checkOpening(opened, id, check);
      if (!opened.phone) {
        await checkSeen(opened, id, check);
        await opened.follow(`#${id}?predict=1`);
        await checkSeen(opened, `${id} with its tour`, check);
      } else {
        await checkTap(opened, check);
        const both = async () => [await boxOf(opened, ".matrices canvas"), await boxOf(opened, ".source")].map((box) => box !== null).join();
        check((await both()) === "true,false", `${id}: a phone shows picture and source: ${await both()}`);
        await opened.page.locator("#turn").click();
        check((await both()) === "false,true", `${id}: in turns, a phone shows picture and source: ${await both()}`);
      }
      const moves = await opened.do(() => getComputedStyle(document.querySelector(".lines li")).transitionDuration);
      check(moves === "0s", `${id}: a line changes its colour in ${moves} for those who want no motion`);
      check(opened.complaints.length === 0, opened.complaints.join("; "));
      await opened.close();
    }
  }
  const opened = await Opened.at(browser, `${address}#step04_tiled`, FRAME);
  await opened.page.setViewportSize({ width: 1400, height: 900 });
  await opened.drawn();
  await checkWritten(opened, check);
  await opened.page.setViewportSize(FRAME);
  await checkKeys(opened, check);
  await checkStays(opened, check);
  await opened.close();
}
