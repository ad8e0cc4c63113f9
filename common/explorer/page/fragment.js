// What is chosen, as the part of the address after `#`:
// `step04_tiled/bank_conflicts?size=64x64x64&panel=request&with=step04_tiled/kernel`.

/// Reads a fragment: the kernel's name (or a chapter's), and the options after the question mark.
export function readFragment(hash) {
  const [name, rest = ""] = hash.replace(/^#/, "").split("?");
  const options = new URLSearchParams(rest);
  const sizes = /^(\d+)(?:x(\d+)x(\d+))?$/.exec(options.get("size") ?? "");
  return {
    name: decodeURIComponent(name),
    size: sizes ? [sizes[1], sizes[2] ?? sizes[1], sizes[3] ?? sizes[1]].map(Number) : null,
    form: options.get("form"),
    dtype: options.get("dtype"),
    fill: options.get("fill"),
    order: options.get("order"),
    with: options.get("with"),
    panel: options.get("panel"),
    predict: options.get("predict"),
  };
}

/// The fragment of a choice.
export function writeFragment(choice) {
  const options = new URLSearchParams();
  options.set("size", choice.size.join("x"));
  for (const name of ["form", "dtype", "fill", "order", "with", "panel"])
    if (choice[name]) options.set(name, choice[name]);
  return `#${choice.name}?${options}`;
}
