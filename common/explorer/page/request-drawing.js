// Draws one side of a request: the 32 lanes of the warp above, and below them the rows of memory that deliver what
// they ask for.

import { drawRect, drawText, prepare } from "./elements.js";

const COLUMNS = 32;
const PER_SECTOR = 8;

/// The measures of a drawing `width` pixels wide.
function measures(side, width) {
  const margin = side.shared ? (width < 420 ? 46 : 54) : 64;
  const cell = Math.min(22, (width - margin - 2) / COLUMNS);
  const many = side.rows.length > 12;
  const high = many ? Math.max(8, Math.min(cell, 10)) : Math.max(11, Math.min(cell, 18));
  const top = cell < 13 ? 13 : 2; // Small lanes have their numbers above them.
  const from = top + cell + (side.rows.length > 1 ? 44 : 30);
  return {
    margin,
    cell,
    high,
    from,
    top,
    at: (column) => margin + column * cell,
    y: (row) => from + row * (high + 2),
    height: from + side.rows.length * (high + 2) + 16,
  };
}

/// What memory delivers: whole sectors, of which only some words may have been asked for, or a word from each bank.
function drawRows(context, side, m, colours, label) {
  const strong = side.writes ? colours.write : colours.read;
  side.rows.forEach((row, index) => {
    const y = m.y(index);
    if (side.shared) {
      for (let bank = 0; bank < COLUMNS; bank += 1)
        drawRect(context, colours.soft, [m.at(bank) + 0.5, y, m.cell - 1, m.high]);
    } else {
      for (let sector = 0; sector < 4; sector += 1) {
        const [colour, opacity] = row.sectors.has(sector) ? [strong, 0.3] : [colours.soft, 1];
        drawRect(context, colour, [m.at(sector * PER_SECTOR) + 1, y, m.cell * PER_SECTOR - 2, m.high], opacity);
      }
    }
    for (const column of row.words.keys())
      drawRect(context, strong, [m.at(column) + 1, y + 1, Math.max(1.5, m.cell - 2), m.high - 2]);
    if (side.rows.length > 12 && index % 4 !== 0) return;
    const name = side.shared ? `pass ${index + 1}` : label(row.line);
    drawText(context, colours.muted, name, m.margin - 6, y + m.high / 2 + 0.5, "right");
  });
}

/// From each lane to the first word that it asks for.
function drawLinks(context, side, m, colours, chosen) {
  for (const { lane, words } of [...side.lanes].sort((a, b) => (a.lane === chosen) - (b.lane === chosen))) {
    const { row, column } = side.places.get(lane);
    if (row < 0) continue;
    context.strokeStyle = lane === chosen ? colours.chosen : colours.muted;
    context.globalAlpha = lane === chosen ? 1 : 0.45;
    context.lineWidth = lane === chosen ? 2 : 1;
    context.beginPath();
    context.moveTo(m.at(lane) + m.cell / 2, m.top + m.cell);
    context.lineTo(m.at(column) + (m.cell * Math.min(words, COLUMNS - column)) / 2, m.y(row));
    context.stroke();
  }
  context.globalAlpha = 1;
}

function drawLanes(context, side, m, colours, chosen) {
  const active = new Set(side.lanes.map(({ lane }) => lane));
  const inside = m.cell >= 13;
  const level = inside ? m.top + m.cell / 2 + 0.5 : 6;
  const middle = (column) => m.at(column) + m.cell / 2;
  for (let lane = 0; lane < COLUMNS; lane += 1) {
    const colour = lane === chosen ? colours.chosen : active.has(lane) ? colours.muted : colours.raised;
    drawRect(context, colour, [m.at(lane) + 0.5, m.top, m.cell - 1, m.cell]);
    const dark = inside && (active.has(lane) || lane === chosen);
    if (inside || lane % 4 === 0) drawText(context, dark ? colours.bg : colours.muted, lane, middle(lane), level);
  }
  const below = m.y(side.rows.length) + 7;
  drawText(context, colours.muted, "lane", m.margin - 6, level, "right");
  if (side.shared) {
    drawText(context, colours.muted, "bank", m.margin - 6, below, "right");
    for (let bank = 0; bank < COLUMNS; bank += m.cell >= 15 ? 1 : 4)
      drawText(context, colours.muted, bank, middle(bank), below);
  } else {
    for (let sector = 0.5; sector < 4; sector += 1)
      drawText(context, colours.muted, inside ? "sector of 32 bytes" : "32 bytes", m.at(sector * PER_SECTOR), below);
  }
}

/// Draws a side `width` pixels wide. `label` names a line of global memory, `chosen` is a lane. Returns which lane
/// lies at a point.
export function drawRequest(canvas, side, { width, colours, chosen, label }) {
  const m = measures(side, width);
  const context = prepare(canvas, width, m.height);
  if (m.cell >= 14) context.font = "11px system-ui, sans-serif";
  drawRows(context, side, m, colours, label);
  drawLinks(context, side, m, colours, chosen);
  drawLanes(context, side, m, colours, chosen);
  return (x, y) =>
    y <= m.top + m.cell + 8 && x >= m.margin ? Math.min(COLUMNS - 1, Math.floor((x - m.margin) / m.cell)) : null;
}
