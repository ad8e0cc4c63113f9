// Draws one side of a request: the 32 lanes of the warp above, and below them the rows of memory that deliver what
// they ask for.

import { prepare } from "./elements.js";

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
    context.fillStyle = colours.soft;
    if (side.shared) {
      for (let bank = 0; bank < COLUMNS; bank += 1) context.fillRect(m.at(bank) + 0.5, y, m.cell - 1, m.high);
    } else {
      for (let sector = 0; sector < 4; sector += 1) {
        const delivered = row.sectors.has(sector);
        context.globalAlpha = delivered ? 0.3 : 1;
        context.fillStyle = delivered ? strong : colours.soft;
        context.fillRect(m.at(sector * PER_SECTOR) + 1, y, m.cell * PER_SECTOR - 2, m.high);
      }
      context.globalAlpha = 1;
    }
    context.fillStyle = strong;
    for (const column of row.words.keys())
      context.fillRect(m.at(column) + 1, y + 1, Math.max(1.5, m.cell - 2), m.high - 2);
    if (side.rows.length > 12 && index % 4 !== 0) return;
    context.fillStyle = colours.muted;
    context.textAlign = "right";
    context.fillText(side.shared ? `pass ${index + 1}` : label(row.line), m.margin - 6, y + m.high / 2 + 0.5);
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
  context.textAlign = "center";
  for (let lane = 0; lane < COLUMNS; lane += 1) {
    context.fillStyle = lane === chosen ? colours.chosen : active.has(lane) ? colours.muted : colours.raised;
    context.fillRect(m.at(lane) + 0.5, m.top, m.cell - 1, m.cell);
    const inside = m.cell >= 13;
    context.fillStyle = inside && (active.has(lane) || lane === chosen) ? colours.bg : colours.muted;
    if (inside) context.fillText(lane, m.at(lane) + m.cell / 2, m.top + m.cell / 2 + 0.5);
    else if (lane % 4 === 0) context.fillText(lane, m.at(lane) + m.cell / 2, 6);
  }
  context.fillStyle = colours.muted;
  context.textAlign = "right";
  context.fillText("lane", m.margin - 6, m.cell < 13 ? 6 : m.top + m.cell / 2 + 0.5);
  const below = m.y(side.rows.length) + 7;
  if (side.shared) context.fillText("bank", m.margin - 6, below);
  context.textAlign = "center";
  if (side.shared)
    for (let bank = 0; bank < COLUMNS; bank += m.cell >= 15 ? 1 : 4)
      context.fillText(bank, m.at(bank) + m.cell / 2, below);
  else
    for (let sector = 0; sector < 4; sector += 1)
      context.fillText(
        m.cell >= 13 ? "sector of 32 bytes" : "32 bytes",
        m.at(sector * PER_SECTOR + PER_SECTOR / 2),
        below,
      );
}

/// Draws a side `width` pixels wide. `label` names a line of global memory, `chosen` is a lane. Returns which lane
/// lies at a point.
export function drawRequest(canvas, side, { width, colours, chosen, label }) {
  const m = measures(side, width);
  const context = prepare(canvas, width, m.height);
  context.font = `${m.cell >= 14 ? 11 : 10}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  drawRows(context, side, m, colours, label);
  drawLinks(context, side, m, colours, chosen);
  drawLanes(context, side, m, colours, chosen);
  return (x, y) =>
    y <= m.top + m.cell + 8 && x >= m.margin ? Math.min(COLUMNS - 1, Math.floor((x - m.margin) / m.cell)) : null;
}
