// A page that `cargo course explore --watch` writes: it asks a small script beside it whether there is a newer page.

const EACH = 500;

/// Watches from now on, if the page was made to.
export function watchVersion({ version_script: script, version_text: own }) {
  if (!script) return;
  setInterval(() => {
    const asked = document.createElement("script");
    asked.src = `${script}?${Date.now()}`;
    asked.onload = () => {
      asked.remove();
      if (window.explorerVersion !== own) location.reload();
    };
    asked.onerror = () => asked.remove();
    document.head.append(asked);
  }, EACH);
}
