// Any kernel: PTX that the reader pastes, with the launch that it needs.

import { button, choose, element, fill } from "./elements.js";
import { sentenceOf, several } from "./words.js";

/// The fields of a launch: what they are called, and how many whole numbers they take; null if it is not numbers alone.
const FIELDS = [
  ["size", "M, N and K", [3, 3]],
  ["grid", "Grid", [1, 3]],
  ["block", "Block", [1, 3]],
  ["shared_bytes", "Dynamic shared memory, bytes", [0, 1]],
  ["args", "Arguments", null],
  ["tile", "Tile of C per block, columns and rows", [0, 2]],
];
/// What C is to the kernel.
const OUTPUTS = [
  ["product", "is to become A·B"],
  ["added", "is to become A·B, and holds zeros before"],
  ["any", "may become anything, and holds zeros before"],
];
const NUMBER = /^-?\d+(\.\d+)?$/;
/// Characters from which on a pasted text is long.
const LONG = 50_000;
const LARGEST = 2 ** 32 - 1;

const written = (value) => (Array.isArray(value) ? value.join(", ") : String(value ?? ""));

/// Refuses what is no list of so many whole numbers.
function checkNumbers(label, words, read, [least, most]) {
  const odd = read.findIndex((one) => !Number.isInteger(one) || one < 0 || one > LARGEST);
  if (odd >= 0) throw new Error(`"${words[odd]}" is no whole number; correct the field "${label}"`);
  if (read.length >= least && read.length <= most) return;
  const wants = least > 0 ? `${least} to ${most} numbers` : `at most ${most === 1 ? "one number" : `${most} numbers`}`;
  throw new Error(`the field "${label}" has ${several(read.length, "number")}; give it ${wants}`);
}

/// A launch as its fields say; a field with something else than its numbers is named.
function launchOf(entry, fields, types) {
  const launch = { entry, output: fields.output.value };
  for (const [id, label, count] of FIELDS) {
    const words = fields[id].value.split(/[\s,×]+/).filter(Boolean);
    const read = words.map((word) => (NUMBER.test(word) ? Number(word) : word));
    if (count) checkNumbers(label, words, read, count);
    if (id === "shared_bytes") launch[id] = read[0] ?? 0;
    else if (id !== "tile" || read.length > 0) launch[id] = read;
  }
  for (const id of ["grid", "block"]) while (launch[id].length < 3) launch[id].push(1);
  const { size, ...rest } = launch;
  const odd = rest.args.findIndex((one, at) => /^[su]/.test(types[at]) && typeof one === "number" && !Number.isInteger(one));
  if (odd >= 0) throw new Error(`argument ${odd + 1} is ${rest.args[odd]}, and its parameter is ${types[odd]}; give it a whole number`);
  return { size, launch: rest };
}

/// Takes a long text over at once: browsers insert one of some hundred thousand characters line by line, which takes them minutes.
function takePasted(event) {
  const pasted = event.clipboardData?.getData("text/plain") ?? "";
  if (pasted.length < LONG) return;
  event.preventDefault();
  event.target.setRangeText(pasted, event.target.selectionStart, event.target.selectionEnd, "end");
}

/// The form behind "more". The page runs what is pasted, and says what is wrong with it.
export function makePaste(root, page) {
  const text = element("textarea", {
    rows: 6,
    spellcheck: "false",
    "aria-label": "PTX",
    placeholder: "PTX from nvcc -ptx, Compiler Explorer, rustc or Triton",
    onpaste: takePasted,
  });
  const says = element("p", { class: "fault", role: "alert" });
  const launches = element("div", { class: "launch" });
  const look = button("What can be launched?", () => show());
  fill(root, element("summary", { text: "Paste a kernel" }), text, look, launches, says);

  async function trying(action) {
    says.textContent = "";
    page.tell(null);
    try {
      await action();
    } catch (error) {
      says.textContent = sentenceOf(error.message);
    }
  }

  const show = () =>
    trying(async () => {
      fill(launches);
      const { entries } = await page.runner.entries(text.value);
      if (entries.length === 0) throw new Error("this PTX has no entry that could be launched; paste a whole file, with its .entry");
      const select = element(
        "select",
        { "aria-label": "Kernel", onchange: () => fields(entries[select.selectedIndex]) },
        ...entries.map(({ name }) => element("option", { text: name })),
      );
      fill(launches, select, element("div", { class: "launch-fields" }));
      fields(entries[0]);
    });

  function fields({ name, launch, types }) {
    const asked = { ...launch, size: [64, 64, 64] };
    const inputs = Object.fromEntries(
      FIELDS.map(([id]) => [id, element("input", { type: "text", value: written(asked[id]), "data-launch": id })]),
    );
    inputs.output = choose(OUTPUTS, { "data-launch": "output" });
    inputs.output.value = launch.output;
    fill(
      launches.lastChild,
      ...FIELDS.map(([id, label]) => element("label", {}, `${label} `, inputs[id])),
      element("label", {}, "C ", inputs.output),
      element("p", {
        class: "muted",
        text: `Its ${types.length} parameters: ${types.join(", ")}. Arguments are A (M×K elements), B (K×N), C (M×N), scratch (16,384 zeros), M, N, K or numbers.`,
      }),
      button("Run it", () => trying(() => page.runPasted(text.value, launchOf(name, inputs, types))), { class: "main" }),
    );
  }
}
