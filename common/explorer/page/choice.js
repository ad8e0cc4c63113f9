// What is run: the kernel, the size, the elements, the order of execution, and a second kernel to compare with. It lies
// behind "more".

import { choose, element, fill, options } from "./elements.js";

/// The longest side of a matrix.
const LONGEST = 64;
const ORDERS = [
  ["warps", "one warp after the other"],
  ["turns", "warps take turns"],
  ["blocks", "blocks take turns, too"],
];
/// Orders that the engine has tried to find a wrong product, beside those that the list names.
const TRIED = /^((warps|turns|blocks)( backwards)?|overtaken [\d.al]+)$/;
const ELEMENTS = { f32: "float", i32: "integer" };
const FILLS = { uniform: "fractions", integers: "whole numbers" };

/// Whether a side of a matrix can be explored: it is whole and not too long.
export const isSide = (side) => Number.isInteger(side) && side >= 1 && side <= LONGEST;

/// A kernel's name as the list shows it.
export function kernelTitle(kernel) {
  return kernel.role === "step" ? kernel.step : kernel.name;
}

/// How a kernel is shown if nothing else is asked for.
export function firstOf(data, name) {
  const kernel = data.kernels.find(({ id }) => id === name);
  return { size: kernel?.size ?? [LONGEST, LONGEST, LONGEST], form: kernel?.form ?? null };
}

/// A choice without what cannot be: sizes within the limits, an element type that the kernel has.
export function sensible(data, choice) {
  const kernel = data.kernels.find(({ id }) => id === choice.name) ?? data.kernels[0];
  const types = [...new Set(kernel.forms.map(({ dtype }) => dtype))];
  const size = choice.size.map((side) => Math.min(LONGEST, Math.max(1, Math.round(side) || 1)));
  const dtype = types.includes(choice.dtype) ? choice.dtype : types[0];
  const order = TRIED.test(choice.order) ? choice.order : "warps";
  const values = Object.hasOwn(FILLS, choice.fill ?? "") ? choice.fill : null;
  const other = data.kernels.some(({ id }) => id === choice.with) ? choice.with : null;
  return { ...choice, name: kernel.id, size, dtype, fill: values, order, with: other };
}

/// The form at the top of the page. `changed(choice)` is called when the reader asks for a run.
export function makeChoice(root, data, changed) {
  let choice = null;
  const groups = () =>
    data.chapters.map(({ number, title, kernels }) => ({
      label: number ? `Step ${number}: ${title}` : title,
      options: kernels.map((id) => [id, kernelTitle(data.kernels.find((kernel) => kernel.id === id))]),
    }));
  const listener = (key) => (event) =>
    changed({ ...choice, [key]: event.target.value || null, ...(key === "name" ? firstOf(data, event.target.value) : {}) });
  const kernel = choose(groups(), { id: "kernel", onchange: listener("name") });
  const other = choose([["", "nothing"], ...groups()], { id: "with", onchange: listener("with") });
  const sides = ["M", "N", "K"].map((side) =>
    element("input", {
      type: "number",
      min: 1,
      max: LONGEST,
      "aria-label": side,
      id: `side-${side}`,
      title: `${side}: at most ${LONGEST}`,
    }),
  );
  const dtype = element("select", { id: "dtype", onchange: listener("dtype") });
  const form = element("select", { id: "form", onchange: listener("form") });
  const formLabel = element("label", {}, "Tiles", form);
  const fillWith = choose(Object.entries(FILLS), { id: "fill", onchange: listener("fill") });
  const order = choose(ORDERS, { id: "order", onchange: listener("order") });
  const go = element("button", { type: "submit", class: "main", id: "run", text: "Run" });
  fill(
    root,
    element("label", { class: "kernel" }, "Kernel", kernel),
    element("label", {}, "M × N × K", element("span", { class: "sizes" }, ...sides)),
    go,
    element("label", {}, "Elements", dtype),
    element("label", {}, "Values", fillWith),
    formLabel,
    element("label", {}, "Order of execution", order),
    element("label", { hidden: data.kernels.length < 2 }, "Compare with", other),
  );
  const run = () => changed({ ...choice, size: sides.map((side) => Number(side.value)) });
  for (const side of sides) side.addEventListener("change", run);
  root.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });

  return {
    /// Lists the kernels again, after one was pasted.
    list() {
      fill(kernel, ...options(groups()));
    },
    /// Shows a choice, and the forms that can run it.
    show(next, able) {
      choice = next;
      const chosen = data.kernels.find(({ id }) => id === next.name);
      kernel.value = next.name;
      other.value = next.with ?? "";
      if (![...order.options].some(({ value }) => value === next.order))
        order.append(...options([[next.order, `tried: ${next.order}`]]));
      order.value = next.order;
      fillWith.value = next.fill ?? "uniform";
      sides.forEach((side, index) => (side.value = next.size[index]));
      const types = new Set(chosen.forms.map((one) => one.dtype));
      fill(dtype, ...options([...types].map((id) => [id, `${ELEMENTS[id] ?? id} (${id})`])));
      dtype.value = next.dtype;
      formLabel.hidden = able.length < 2;
      fill(form, ...options(able.map(({ id, usual }) => [id, usual ? `${id} (the course's)` : id])));
      form.value = able.some(({ id }) => id === next.form) ? next.form : (able[0]?.id ?? "");
    },
  };
}
