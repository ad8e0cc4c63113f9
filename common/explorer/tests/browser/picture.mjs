// The picture of the README: node picture.mjs PAGE.html FOLDER
//
// PAGE.html is what `cargo course explore 4/no_second_barrier` writes. FOLDER gets race-light.png and race-dark.png: the race, the
// barrier that is missing, and the element of C that it spoils.

import path from "node:path";
import { pathToFileURL } from "node:url";
import { Opened, startBrowser } from "./browser.mjs";

const [pageFile, folder] = process.argv.slice(2);
if (!pageFile || !folder) {
  console.error("usage: node picture.mjs PAGE.html FOLDER");
  process.exit(2);
}
const browser = await startBrowser().catch((error) => {
  console.error(error.message);
  process.exit(2);
});
const address = pathToFileURL(path.resolve(pageFile)).href;
for (const scheme of ["light", "dark"]) {
  const opened = await Opened.at(browser, address, { scheme, width: 1000, height: 640, motion: "reduce" });
  await opened.page.waitForSelector(".hazard-picture");
  await opened.drawn();
  await opened.page.screenshot({ path: path.join(folder, `race-${scheme}.png`) });
}
await browser.close();
