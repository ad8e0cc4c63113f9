// The keyboard: the space bar plays, the arrows step, Home and End go to the ends.

/// Whether the key belongs to the control that has the focus, such as a field or a list.
function belongsToControl(event) {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey) return true;
  if (target.closest("select, textarea, input:not([type=range])")) return true;
  if (event.key !== " " && target.closest("canvas[tabindex]")) return true;
  return event.key === " " && target.closest("button, summary, a, [role=tab]") !== null;
}

/// Listens to the keyboard from now on. `time` has `toggle`, `step` and `jump`.
export function listenToKeys(time) {
  document.addEventListener("keydown", (event) => {
    if (belongsToControl(event)) return;
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.target.closest("[role=tablist]") && way) return;
    if (event.key === " ") time.toggle();
    else if (way) time.step(way, event.shiftKey ? "barrier" : undefined);
    else if (event.key === "Home") time.jump(0);
    else if (event.key === "End") time.jump(Infinity);
    else return;
    event.preventDefault();
  });
}
