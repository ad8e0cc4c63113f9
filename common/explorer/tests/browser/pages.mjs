// The book's pages at three widths, in the light and in the dark theme: node pages.mjs BOOK
//
// BOOK is the folder that mdBook wrote. No page is wider than its screen. What is too wide in it scrolls in a box of its
// own, and on a wide screen nothing has to, but two tables of the reference. No picture is missing, and none cuts its words.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { startBrowser } from "./browser.mjs";

const SCREENS = [
  [1400, "light"],
  [1000, "dark"],
  [390, "light"],
];
/// Pages whose tables have a row for each launch and a column for each counter or shape.
const SCROLL = ["counters-gpu.html", "acceptance.html"];

const book = process.argv[2];
if (!book || !existsSync(path.join(book, "toc.html"))) {
  console.error("usage: node pages.mjs BOOK, the folder that cargo course book makes (docs/book)");
  process.exit(2);
}
const address = (file) => pathToFileURL(path.resolve(book, file)).href;
const pages = [...readFileSync(path.join(book, "toc.html"), "utf8").matchAll(/href="([^"]+\.html)"/g)].map(
  (found) => found[1],
);
const pictures = readdirSync(book, { recursive: true }).filter((file) => /^(figures|drawings|results).*\.svg$/.test(file));
const faults = [];

const browser = await startBrowser().catch((error) => {
  console.error(error.message);
  process.exit(2);
});
for (const [width, colorScheme] of SCREENS) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  // The explorer has tests of its own, and takes long to start.
  const frame = (url) => url.pathname.endsWith("/explorer.html") && !url.pathname.endsWith("/reference/explorer.html");
  await context.route(frame, (route) => route.fulfill({ contentType: "text/html", body: "" }));
  const page = await context.newPage();
  for (const name of pages) {
    await page.goto(address(name));
    const found = await page.evaluate(looks, width >= 1000 && !SCROLL.includes(name));
    faults.push(...found.map((fault) => `${name}, ${width} pixels, ${colorScheme}: ${fault}`));
  }
  await context.close();
}
const page = await browser.newPage();
for (const picture of pictures) {
  await page.goto(address(picture));
  faults.push(...(await page.evaluate(cutWords)).map((words) => `${picture} cuts the words ${words}`));
}
await browser.close();
for (const fault of faults) console.log(fault);
console.log(`${pages.length} pages at ${SCREENS.length} widths, ${pictures.length} pictures: ${faults.length} faults`);
process.exit(faults.length || !pages.length || !pictures.length ? 1 : 0);

/// What is wrong with the page that is shown, with everything unfolded. Runs in the page.
function looks(nothingScrolls) {
  for (const details of document.querySelectorAll("details")) details.open = true;
  const faults = [];
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) faults.push(`the page is ${scrollWidth} pixels wide`);
  const main = document.querySelector("#content main");
  const edge = main.getBoundingClientRect().right + 1;
  const what = (one) => `${one.tagName.toLowerCase()} ${JSON.stringify(one.textContent.trim().slice(0, 40))}`;
  const scrolls = (one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowX);
  const inBox = (one) => one !== main && (scrolls(one) || inBox(one.parentElement));
  for (const one of main.querySelectorAll("*")) {
    if (one.getBoundingClientRect().right > edge && !inBox(one)) faults.push(`${what(one)} reaches past the text`);
    if (nothingScrolls && scrolls(one) && one.scrollWidth > one.clientWidth + 1) faults.push(`${what(one)} has to scroll`);
    if (one.tagName === "IMG" && one.naturalWidth === 0) faults.push(`the picture ${one.src} is missing`);
  }
  return faults;
}

/// The words of the picture that is shown that reach past its edges. Runs in the page.
function cutWords() {
  const { width, height } = document.documentElement.viewBox.baseVal;
  const scale = document.documentElement.getScreenCTM().inverse();
  return [...document.querySelectorAll("text")]
    .filter((text) => {
      const box = text.getBoundingClientRect();
      const [start, end] = [new DOMPoint(box.left, box.top), new DOMPoint(box.right, box.bottom)].map((point) =>
        point.matrixTransform(scale),
      );
      const slack = width / 1000;
      return start.x < -slack || start.y < -slack || end.x > width + slack || end.y > height + slack;
    })
    .map((text) => JSON.stringify(text.textContent));
}
