// The colours of the page: those of the book around it, or light or dark as the reader's system prefers.

const DARK_THEMES = ["coal", "navy", "ayu"];

/// The book's root element, if the page lies in a frame of the book and may read it.
function bookRoot() {
  try {
    const root = window.parent === window ? null : window.parent.document.documentElement;
    return root && getComputedStyle(root).getPropertyValue("--bg") ? root : null;
  } catch {
    return null; // Between two files on disk, a browser lets neither page read the other.
  }
}

/// The theme that the reader chose in the book, as mdBook keeps it in the browser. Not there if none was chosen.
function storedTheme() {
  try {
    return window.parent === window ? null : localStorage.getItem("mdbook-theme")?.replaceAll('"', "");
  } catch {
    return null;
  }
}

function apply(root) {
  const page = document.documentElement;
  const classes = root ? [...root.classList] : [storedTheme()];
  const named = classes.find((name) => name && (DARK_THEMES.includes(name) || name === "light" || name === "rust"));
  const dark = named ? DARK_THEMES.includes(named) : matchMedia("(prefers-color-scheme: dark)").matches;
  page.dataset.theme = dark ? "dark" : "light";
  if (!root) return;
  page.dataset.book = "";
  for (const name of ["--bg", "--fg"]) page.style.setProperty(name, getComputedStyle(root).getPropertyValue(name));
}

/// Follows the theme from now on, and calls `changed` after each change.
export function followTheme(changed) {
  const root = bookRoot();
  const again = () => {
    apply(root);
    changed();
  };
  apply(root);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  window.addEventListener("storage", again);
  if (root) new MutationObserver(again).observe(root, { attributes: true, attributeFilter: ["class"] });
}

/// The page's colours by name, for canvases.
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["bg", "fg", "muted", "line", "soft", "raised", "read", "write", "tile", "fault", "chosen"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}
