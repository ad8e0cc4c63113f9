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

/// A button with its text, and what a press does.
export function button(text, onclick, attributes = {}) {
  return element("button", { type: "button", text, onclick, ...attributes });
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

/// The options of a select: `[value, text]`, or `{ label, options }` for a group.
export function options(entries) {
  return entries.map((entry) =>
    Array.isArray(entry)
      ? element("option", { value: entry[0], text: entry[1] })
      : element("optgroup", { label: entry.label }, ...options(entry.options)),
  );
}

/// A select with its options.
export const choose = (entries, attributes) => element("select", attributes, ...options(entries));

/// A canvas of a size in CSS pixels, sharp on every screen. Its context draws in CSS pixels, with small letters around their middle.
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
  context.font = "10px system-ui, sans-serif";
  context.textBaseline = "middle";
  return context;
}

/// Fills a rectangle of a drawing.
export function drawRect(context, colour, [x, y, width, height], opacity = 1) {
  context.globalAlpha = opacity;
  context.fillStyle = colour;
  context.fillRect(x, y, width, height);
  context.globalAlpha = 1;
}

/// Writes into a drawing: around a place, or to the left or the right of it.
export function drawText(context, colour, text, x, y, align = "center") {
  context.textAlign = align;
  context.fillStyle = colour;
  context.fillText(text, x, y);
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
