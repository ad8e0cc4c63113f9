// A page that `cargo course explore --watch` writes: it asks a small script beside it whether there is a newer page.

const EACH = 500;

/// Watches from now on, if the page was made to.
export function watchVersion({ version_script: script, version_text: own }) {
  if (!script) return;
  setInterval(() => {
    const asked = document.createElement("script");
    // A name is no address: one such as data:,... would be run.
    asked.src = `./${encodeURIComponent(script)}?${Date.now()}`;
    asked.onload = () => {
      asked.remove();
      if (window.explorerVersion !== own) location.reload();
    };
    asked.onerror = () => asked.remove();
    document.head.append(asked);
  }, EACH);
}
