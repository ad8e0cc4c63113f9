// Plants faults in the page, or in what it is compared with, and sees that the tests find each: node faults.mjs
// PAGE.html NATIVE.json [GROUP]

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

/// In the page: the group that must fail, what is wrong, the text that is replaced, and by what.
const IN_PAGE = [
  [
    "opening",
    "an error on the console",
    "async function startPage() {",
    'async function startPage() { console.error("planted");',
  ],
  [
    "opening",
    "a network is asked",
    "async function startPage() {",
    'async function startPage() { fetch("http://127.0.0.1:9/").catch(() => {});',
  ],
  ["opening", "the data cannot be unpacked", 'DecompressionStream("deflate-raw")', 'DecompressionStream("gzip")'],
  ["forward and back", "a step back goes forward", "seek({ to: unit, back })", "seek({ to: unit, back: false })"],
  [
    "forward and back",
    "what is drawn depends on the way there",
    "this.look = answer;",
    "this.look = answer; this.values.readsA = this.values.readsA.map((reads) => reads + (this.visits = (this.visits ?? 0) + 1));",
  ],
  ["meaning", "a sum is asked for in another row", "run.meaning({ element: [row, column] })", "run.meaning({ element: [row, column + 1] })"],
  ["meaning", "another word is asked for", "shared: shared + index", "shared: shared + index + 1"],
  ["meaning", "an element lights up beside the right one", "x + column * cell, y + row * cell, Math.max", "x + column * cell, y + (row + 1) * cell, Math.max"],
  ["meaning", "wrong pairs look like right ones", "drawRect(context, wrong ? tones.fault", "drawRect(context, wrong ? tones.tile"],
  ["meaning", "the sentence is that of another warp", "do: \"look\", time, ...chosen }", "do: \"look\", time, ...chosen, warp: chosen.warp + 1 }"],
  ["pictures", "the barrier stands after both accesses", "const middle = (one + other) / 2;", "const middle = other + 20;"],
  ["pictures", "the old value is shown as the new one", "...box(write, width - SIDE - write, now,", "...box(write, width - SIDE - write, old,"],
  ["pictures", "a wrong element is said to be right", "${wrong ? \"is wrong", "${!wrong ? \"is wrong"],
  ["pictures", "the switch leads to the same run", "() => view.page.inOrder(order)", "() => view.page.inOrder(witness.lucky)"],
  ["pictures", "the page looks for no witness", "if (facts.outcome.right) await this.findWitness();", ""],
  ["pictures", "what was found is forgotten", "this.witness = witness;", ""],
  ["pictures", "latencies change nothing", "latency[id] = Math.max", "latency.other = Math.max"],
  ["pictures", "the strips do not fit the frame", "</style>", ".strips figure { min-height: 150px; }</style>"],
  ["pictures", "strips stand alone", "this.besides().filter(", "[].filter("],
  ["pictures", "a launch is not checked before it is asked for", "if (count) checkNumbers(label, words, read, count);", ""],
  ["pictures", "the form hides the run of a pasted kernel", "    this.showMore(false);\n    const [run]", "    const [run]"],
  ["pictures", "a long text is left to the browser", "    onpaste: takePasted,", ""],
  ["pictures", "a pasted race is not shown", "else if (hazards[worst]?.warning === false)", "else if (false)"],
  ["pictures", "a pasted fault is not shown", "if (outcome.stopped) {", "if (false) {"],
  ["pictures", "any C is judged", "if (free) return", "if (!free) return"],
  ["pictures", "the sentence names another cell than the picture", "this.facts = answer;", 'this.facts = answer; for (const hazard of answer.hazards) hazard.place = "Bs[9][9]";'],
  ["pictures", "the panel of hazards opens before any hazard", 'else if (wanted.panel === "hazards" ||', "else if ("],
  ["pictures", "a pasted launch is ignored", "const planner = { launch };", "const planner = { launch: { ...launch, block: [1, 1, 1] } };"],
  ["everywhere", "something has no name", "place(run.blockName())", "place(run.blockName()) + run.nothing"],
  [
    "as natively",
    "the table shows another number so far",
    "setText(row.now, count(now[name] ?? 0))",
    "setText(row.now, count((now[name] ?? 0) + 1))",
  ],
  [
    "as natively",
    "the table shows another number",
    "setText(row.end, count(end[name]))",
    "setText(row.end, count(end[name] + 1))",
  ],
  [
    "as natively",
    "the last instruction is left out",
    "Math.min(next, this.runs[0].facts.length)",
    "Math.min(next, this.runs[0].facts.length - 1)",
  ],
  [
    "as natively",
    "another form is run",
    "able.find(({ id }) => id === choice.form) ?? able[0]",
    "able.at(-1)",
  ],
  [
    "scrubbing",
    "a frame takes long",
    "  async lookAt(time, chosen = this.chosen) {",
    "  async lookAt(time, chosen = this.chosen) { await new Promise((done) => setTimeout(done, 1200));",
  ],
  ["scrubbing", "a run takes much memory", "this.facts = answer;", "this.facts = { ...answer, bytes: 6e7 };"],
  ["controls", "End does nothing", 'event.key === "End"', 'event.key === "Ende"'],
  [
    "controls",
    "the space bar does not pause",
    "if (timer !== null) return stop();",
    "if (timer !== null) return undefined;",
  ],
  [
    "controls",
    "the chosen warp is not marked",
    '"aria-pressed", String(warp === chosen.warp)',
    '"aria-pressed", "false"',
  ],
  [
    "names and room",
    "a field without a name",
    '"aria-label": "Time, in instructions of all warps"',
    '"data-label": ""',
  ],
  ["names and room", "the page is too wide", "</style>", ".columns { min-width: 1800px; }</style>"],
  ["first minute", "it opens before anything has happened", "if (Number.isInteger(first?.time)) await", "if (!first) await"],
  ["first minute", "it opens on more than one block", "(wanted.size ? { size: wanted.size } : firstOf(this.data, name))", "{ size: wanted.size ?? [64, 64, 64] }"],
  ["first minute", "everything is shown at once", 'aria-label="More" hidden', 'aria-label="More"'],
  ["first minute", "the controls take two rows", "</style>", ".time { flex-wrap: wrap; } .buttons { flex-basis: 100%; }</style>"],
  ["first minute", "after its last line it jumps to the end", "else if (back && unit", "else if (unit"],
  ["first minute", "the matrices reach below the frame", "window.innerHeight - top - 10", "2000"],
  ["first minute", "a phone shows both", "body:not(.comparing):not(.at-source) .source", ".nothing"],
  ["first minute", "the arrow keys do not point", "point(neighbour(grids, pointed, way));", ""],
  ["first minute", "values are rounded to fit", "LETTERS.find(exact) ?? ", ""],
  ["first minute", "a tap is forgotten when the finger is lifted", 'pointerType !== "touch" && point(null)', "point(null)"],
  ["first minute", "it moves for those who want no motion", "(prefers-reduced-motion: no-preference)", "all"],
  ["names and room", "a panel is not shown", "</style>", ".panel.request { display: none !important; }</style>"],
  ["predict", "another number than was counted", "text: numeral(found.value)", "text: numeral(found.value + 1)"],
  ["predict", "the counts are shown before", ".counters > * { display: none; }", ""],
  ["predict", "any number is right", "Math.abs(predicted - counted) <=", "0 <="],
  [
    "predict",
    "the answer stands below the question",
    "fill(body, form())",
    'fill(body, form(), "Counted")',
  ],
  ["predict", "predictions are not kept", "localStorage.setItem(KEY", "localStorage.getItem(KEY"],
  ["compare", "the second kernel stays behind", "if (other && travels)", "if (other && !travels)"],
  [
    "compare",
    "a step moves one of them",
    "for (const run of this.runs) went",
    "for (const run of this.runs.slice(0, 1)) went",
  ],
  ["endless kernel", "a run cannot be stopped", '"Stop", () => this.runner.stop()', '"Stop", () => {}'],
  [
    "endless kernel",
    "nothing says that a run was stopped",
    "this.tell(outcomeSentence(runs[0].facts))",
    "this.tell(null)",
  ],
  ["bad input", "any size is taken", "side <= LONGEST", "side <= 6400"],
  [
    "bad input",
    "what the engine refuses is not said",
    "this.tell(sentenceOf(error.message));",
    'this.tell("undefined");',
  ],
  ["without WebAssembly", "nobody looks whether it is there", 'typeof WebAssembly !== "object"', "false"],
  [
    "without storage",
    "a missing storage is not caught",
    "    return { ...held };\n  }",
    '    throw new Error("no storage");\n  }',
  ],
  ["in the book's frame", "the book's theme is not read", "const root = bookRoot();", "const root = null;"],
  ["watching", "it never asks", "if (!script) return;", "return;"],
  ["watching", "it always reloads", "window.explorerVersion !== own", "true"],
];

/// In the native runs: what is wrong, and the change.
const IN_NATIVE = [
  [
    "a counter is another",
    (native) => {
      native.runs[1].totals.global_load_sectors += 1;
    },
  ],
  [
    "a line's counter is another",
    (native) => {
      Object.values(native.runs[1].lines)[0].instructions += 1;
    },
  ],
  [
    "a hazard is missing",
    (native) => {
      native.runs.find(({ hazards }) => hazards.length > 0).hazards.pop();
    },
  ],
  [
    "a hazard is at another place",
    (native) => {
      native.runs.find(({ hazards }) => hazards.length > 0).hazards[0].place = "As[9][9]";
    },
  ],
  [
    "a product is wrong",
    (native) => {
      native.runs[0].right = !native.runs[0].right;
    },
  ],
  [
    "a kernel is missing",
    (native) => {
      native.runs = native.runs.filter(({ kernel }) => kernel !== native.runs[0].kernel);
    },
  ],
];

const [pageFile, nativeFile, only] = process.argv.slice(2);
const page = readFileSync(pageFile, "utf8");
const native = readFileSync(nativeFile, "utf8");
const folder = mkdtempSync(path.join(tmpdir(), "faults-"));
let missed = 0;

/// Runs a group, and says whether it fails.
function found(group, html, runs) {
  const [htmlFile, runsFile] = [path.join(folder, "page.html"), path.join(folder, "native.json")];
  writeFileSync(htmlFile, html);
  writeFileSync(runsFile, runs);
  const run = path.join(path.dirname(fileURLToPath(import.meta.url)), "run.mjs");
  return spawnSync(process.execPath, [run, htmlFile, runsFile, "--only", group], { encoding: "utf8" });
}

/// Only the runs of a few kernels, so that a fault is found soon.
function fewer(text) {
  const all = JSON.parse(text);
  const runs = all.runs.filter(({ kernel }) => /step02|no_first_barrier|step05_thread_tile$/.test(kernel));
  return JSON.stringify({ ...all, runs, kernels: [...new Set(runs.map(({ kernel }) => kernel))] });
}

function tell(group, what, { status, stdout, stderr }) {
  const seen = status === 1 && /^FAIL/m.test(stdout);
  if (!seen) missed += 1;
  const reason =
    stdout
      .split("\n")
      .find((line) => line.startsWith("      "))
      ?.trim() ?? stderr.trim().split("\n")[0];
  console.log(`${seen ? "found " : "MISSED"}  ${group}: ${what}${seen ? ` (${reason.slice(0, 110)})` : ""}`);
}

// Without a fault the few runs must pass: what fails anyway shows nothing.
if (!only || only === "as natively") {
  const { status, stdout } = found("as natively", page, fewer(native));
  if (status !== 0) missed += 1;
  console.log(
    `${status === 0 ? "passes" : "FAILS "}  as natively, without a fault${status === 0 ? "" : `: ${stdout}`}`,
  );
}
for (const [group, what, from, to] of IN_PAGE) {
  if (only && only !== group) continue;
  if (!page.includes(from)) {
    missed += 1;
    console.log(`MISSED  ${group}: ${what}: the page no longer has the text that the fault replaces: ${from}`);
    continue;
  }
  tell(
    group,
    what,
    found(
      group,
      page.replaceAll(from, () => to),
      group === "as natively" ? fewer(native) : native,
    ),
  );
}
for (const [what, change] of IN_NATIVE) {
  if (only && only !== "as natively") continue;
  const changed = JSON.parse(fewer(native));
  change(changed);
  tell("as natively", what, found("as natively", page, JSON.stringify(changed)));
}
console.log(`${missed} faults missed`);
process.exit(missed === 0 ? 0 : 1);
