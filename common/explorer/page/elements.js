// Elements of the page, made in one call.

/// An element: its name, its attributes (`on…` are listeners, `text` is its text), and its children.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") made.textContent = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/// An element of a drawing (SVG), likewise.
export function drawing(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/// Words in which names of code stand between backticks, as the course's texts have them.
export function withCode(text) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? element("code", { text: part }) : part));
}

/// A table with these heads above its body.
export function table(attributes, heads, body) {
  const cells = heads.map((text) => element("th", { scope: "col", text }));
  return element("table", attributes, element("thead", {}, element("tr", {}, ...cells)), body);
}

/// Replaces the children of an element.
export function fill(parent, ...children) {
  parent.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
}

/// A select with its options: `[value, text]`, or `{ label, options }` for a group.
export function choose(options, attributes) {
  const option = ([value, text]) => element("option", { value, text });
  const entries = options.map((entry) =>
    Array.isArray(entry) ? option(entry) : element("optgroup", { label: entry.label }, ...entry.options.map(option)),
  );
  return element("select", attributes, ...entries);
}

/// A canvas of a size in CSS pixels, sharp on every screen. Its context draws in CSS pixels.
export function prepare(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== across || canvas.height !== down) {
    canvas.width = across;
    canvas.height = down;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/// Calls `pointed(x, y, event)` while a pointer moves over an element, and when it is pressed.
export function whenPointed(target, pointed) {
  for (const kind of ["pointermove", "pointerdown"])
    target.addEventListener(kind, (event) => pointed(event.offsetX, event.offsetY, event));
}

/// Sets an element's text, if it is another one.
export function setText(target, text) {
  const wanted = String(text);
  if (target.textContent !== wanted) target.textContent = wanted;
}

/// A list of rows under `parent` that are kept from one drawing to the next. `make(key)` makes a row with its `root`;
/// rows are made again when the keys change.
export function keepRows(parent, make) {
  let known = null;
  let rows = new Map();
  return (keys) => {
    const joined = keys.join("\n");
    if (joined !== known) {
      known = joined;
      const before = rows;
      rows = new Map(keys.map((key) => [key, before.get(key) ?? make(key)]));
      parent.replaceChildren(...[...rows.values()].map(({ root }) => root));
    }
    return rows;
  };
}
