(() => {
"use strict";
// The page's script: a scatter plot, parallel coordinates and a table of one front, that follow each other.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const columns = data.columns, byKey = Object.fromEntries(columns.map((c) => [c.key, c]));
const decoded = (v) => (Array.isArray(v) ? v : v.codes.map((c) => v.words[c]));
const front = data.front, others = Object.fromEntries(Object.entries(data.others).map(([k, v]) => [k, decoded(v)]));
const size = front.trial ? front.trial.length : 0;
const rows = [...Array(size).keys()];
const roles = new Map(data.plans.map((p) => [p.trial, p.role]));
const escaped = (s) => String(s).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const title = (s) => s.charAt(0).toUpperCase() + s.slice(1);
const dark = matchMedia("(prefers-color-scheme: dark)");
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// ---- figures in words: as planner/figures.py writes them -------------------------------------------------------
function number(v, whole) {
  if (v === 0) return "0";
  const digits = Math.floor(Math.log10(Math.abs(v)) + 1e-12);
  if (digits < -4 || digits >= 12) return v.toExponential(2);
  if (whole && Number.isInteger(v)) return v.toLocaleString("en-US");
  const places = Math.max(0, 2 - digits);
  return v.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
}
function say(v, c, unit = true) {
  if (v === null || v === undefined) return "–";
  if (typeof v === "boolean") return v ? "yes" : "no";
  if (typeof v === "string") return v;
  const n = (v < 0 ? "−" : "") + c.before + number(Math.abs(v) / c.factor, c.whole);
  return unit && c.after ? n + (c.after[0] === "/" ? "" : " ") + c.after : n;
}
const tickText = (v, c) => c.before + Number((v / c.factor).toPrecision(4)).toLocaleString("en-US", { maximumSignificantDigits: 4 });
const unitOf = (c) => (c.before + " " + c.after).trim();
const axisTitle = (c, brief) => title(c.name) + (unitOf(c) ? ` (${unitOf(c)})` : "") + (brief || c.maximized === null ? "" : c.maximized ? ", more is better" : ", less is better");

// ---- scales ------------------------------------------------------------------------------------------------
function scale(c, lists, from, to, log) {
  const worded = c.word || (c.levels && c.levels.length <= 12); // few levels stand side by side, whatever they are
  if (worded) {
    const present = [...new Set(lists.flat().map(String))];
    const levels = c.levels ? c.levels.map(String).filter((v) => present.includes(v)) : present.sort();
    const step = (to - from) / Math.max(1, levels.length);
    const at = new Map(levels.map((v, i) => [v, from + step * (i + 0.5)]));
    return { place: (v) => at.get(String(v)), ticks: levels.map((v) => [at.get(v), c.word ? v : say(Number(v), c, false)]), log: false, word: true };
  }
  const values = lists.flat().filter((v) => typeof v === "number");
  let low = Math.min(...values), high = Math.max(...values);
  if (!values.length) { low = 0; high = 1; }
  const positive = low > 0;
  const wantsLog = positive && (log === undefined ? high / low > 15 : log);
  if (low === high) { const pad = Math.abs(low) * 0.1 || 1; low -= pad; high += pad; }
  const f = wantsLog ? Math.log : (v) => v;
  let a = f(low > 0 || !wantsLog ? low : high / 100), b = f(high);
  const pad = (b - a) * 0.05; a -= pad; b += pad;
  if (!wantsLog && positive && low < (high - low) * 0.6) a = Math.max(Math.min(a, low), 0);
  const place = (v) => (typeof v === "number" ? from + ((f(v) - a) / (b - a)) * (to - from) : undefined);
  const ticks = (wantsLog ? logTicks(Math.exp(a), Math.exp(b), c) : niceTicks(a, b, c)).map((v) => [place(v), tickText(v, c)]);
  return { place, ticks, log: wantsLog, canLog: positive && high > low, word: false };
}
function niceTicks(a, b, c) {
  const f = c.factor, span = (b - a) / f, raw = span / 5, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((s) => s * power >= raw) * power, made = [];
  for (let k = Math.ceil(a / f / step); k * step <= b / f + 1e-12; k++) made.push(+(k * step).toPrecision(12) * f);
  return made;
}
function logTicks(a, b, c) {
  const f = c.factor, made = [];
  const decades = Math.log10(b / a), steps = decades > 3 ? [1] : decades > 1.3 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 7];
  for (let e = Math.floor(Math.log10(a / f)); e <= Math.ceil(Math.log10(b / f)); e++)
    for (const s of steps) { const v = +(s * 10 ** e).toPrecision(12) * f; if (v >= a && v <= b) made.push(v); }
  return made.length > 1 ? made : niceTicks(a, b, c);
}

// ---- colours -----------------------------------------------------------------------------------------------
function colouring(key) {
  const c = byKey[key];
  if (!c) return { of: () => css("--c0"), legend: "" };
  const levels = c.word || (c.levels && c.levels.length <= 8) ? [...new Set(front[key].map(String))] : null;
  if (levels && levels.length <= 8) {
    const order = c.levels ? c.levels.map(String).filter((v) => levels.includes(v)) : levels.sort();
    const colour = new Map(order.map((v, i) => [v, css(`--c${i % 8}`)]));
    const named = (v) => (c.word ? v : say(Number(v), c));
    return { of: (v) => colour.get(String(v)), legend: `${escaped(title(c.name))} ` + order.map((v) => `<span><i style="background:${colour.get(v)}"></i>${escaped(named(v))}</span>`).join("") };
  }
  if (c.word) return { of: () => css("--c0"), legend: "" };
  const s = scale(c, [front[key]], 0, 1);
  const stops = dark.matches ? [[62, 88, 150], [70, 170, 170], [244, 214, 110]] : [[43, 56, 128], [28, 140, 140], [236, 180, 60]];
  const mix = (t) => { const x = Math.max(0, Math.min(1, t)) * 2, i = Math.min(1, Math.floor(x)), u = x - i; return `rgb(${stops[i].map((p, k) => Math.round(p + (stops[i + 1][k] - p) * u)).join(",")})`; };
  const values = front[key].filter((v) => typeof v === "number");
  const legend = `${escaped(title(c.name))} <span>${say(Math.min(...values), c)}</span><i class="ramp" style="background:linear-gradient(90deg,${mix(0)},${mix(.5)},${mix(1)})"></i><span>${say(Math.max(...values), c)}</span>`;
  return { of: (v) => (typeof v === "number" ? mix(s.place(v)) : css("--c7")), legend };
}

// ---- state -------------------------------------------------------------------------------------------------
const numeric = columns.filter((c) => !c.word);
const goals = data.goals.map((k) => byKey[k]).filter(Boolean);
const firstParameter = columns.find((c) => c.role === "parameter" && new Set(front[c.key]).size > 1) || columns[0];
const state = {
  x: data.axes.length > 1 ? data.axes[0] : (numeric.find((c) => c.role === "parameter") || numeric[0] || {}).key,
  y: data.axes.length > 1 ? data.axes[1] : goals.length ? goals[0].key : (numeric[0] || {}).key,
  colour: goals.length > 2 ? firstParameter.key : (firstParameter || {}).key,
  feasible: true, infeasible: false, logx: undefined, logy: undefined,
  filters: {}, hovered: null, pinned: null, sort: null, all: false,
};
const passes = (i) => Object.entries(state.filters).every(([key, { test }]) => test(front[key][i]));
let kept = rows;

// ---- the scatter plot -----------------------------------------------------------------------------------------
let points = [];
function drawScatter() {
  const svg = byId("scatter"), w = svg.clientWidth, h = svg.clientHeight;
  if (!w || !size || !byKey[state.x] || !byKey[state.y]) { if (!size) svg.parentNode.hidden = true; return; }
  const cx = byKey[state.x], cy = byKey[state.y], narrow = w < 560;
  const shown = [];
  (others.trial || []).forEach((_, i) => { const ok = others.feasible[i]; if ((ok && state.feasible) || (!ok && state.infeasible)) shown.push(i); });
  const extent = (key) => [front[key], shown.map((i) => (others[key] || [])[i])];
  const left = narrow ? 54 : 68, right = 18, top = 34, bottom = 46;
  const sx = scale(cx, extent(state.x), left, w - right, state.logx), sy = scale(cy, extent(state.y), h - bottom, top, state.logy);
  const colour = colouring(state.colour);
  const out = [];
  let last = -1e9;
  sx.ticks.forEach(([at, text]) => {
    out.push(`<line class="grid" x1="${at}" x2="${at}" y1="${top}" y2="${h - bottom}"/>`);
    const room = text.length * 6.6 + 8;
    if (at - last >= room) { out.push(`<text x="${at}" y="${h - bottom + 17}" text-anchor="middle">${escaped(text)}</text>`); last = at; }
  });
  sy.ticks.forEach(([at, text]) => out.push(`<line class="grid" x1="${left}" x2="${w - right}" y1="${at}" y2="${at}"/><text x="${left - 8}" y="${at + 4}" text-anchor="end">${escaped(sy.word && text.length > 9 ? text.slice(0, 8) + "…" : text)}</text>`));
  out.push(`<text class="title" x="${narrow ? 12 : left}" y="20">${escaped(axisTitle(cy, narrow))}</text><text class="title" x="${w - right}" y="${h - 10}" text-anchor="end">${escaped(axisTitle(cx, narrow))}</text>`);
  points = [];
  const grey = css("--dot"), warn = css("--warn");
  shown.forEach((i) => {
    const x = sx.place((others[state.x] || [])[i]), y = sy.place((others[state.y] || [])[i]);
    if (x === undefined || y === undefined) return;
    const ok = others.feasible[i];
    out.push(ok ? `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="2.4" fill="${grey}" fill-opacity=".6"/>` : `<path d="M${(x - 2.2).toFixed(1)} ${(y - 2.2).toFixed(1)}l4.4 4.4m0 -4.4l-4.4 4.4" stroke="${warn}" stroke-opacity=".45"/>`);
    points.push({ x, y, from: others, i, front: false });
  });
  if (goals.length === 2 && goals.every((g) => g.key === state.x || g.key === state.y) && !Object.keys(state.filters).length) {
    const along = rows.map((i) => [sx.place(front[state.x][i]), sy.place(front[state.y][i])]).filter((p) => p[0] !== undefined && p[1] !== undefined).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    out.push(`<path d="M${along.map((p) => p.map((v) => v.toFixed(1)).join(" ")).join("L")}" fill="none" stroke="${css("--line")}" stroke-width="1.5"/>`);
  }
  const keeps = new Set(kept);
  rows.filter((i) => !keeps.has(i)).concat(kept).forEach((i) => {
    const x = sx.place(front[state.x][i]), y = sy.place(front[state.y][i]);
    if (x === undefined || y === undefined) return;
    const on = keeps.has(i), role = roles.get(front.trial[i]), mark = i === state.pinned || i === state.hovered;
    if (role && on) out.push(`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="9.5" fill="none" stroke="${css("--ink")}" stroke-width="1.3"/>`);
    if (mark) out.push(`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="12.5" fill="none" stroke="${css("--mark")}" stroke-width="2"/>`);
    out.push(`<circle class="front" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${role ? 6.2 : 5}" fill="${colour.of(front[state.colour]?.[i])}" fill-opacity="${on ? 0.92 : 0.12}" stroke="${css("--card")}" stroke-width="1"/>`);
    if (on) points.push({ x, y, from: front, i, front: true });
  });
  labels(sx, sy, w, right, top, out);
  svg.setAttribute("viewBox", `0 0 ${w} ${h}`);
  svg.innerHTML = out.join("");
  byId("legend").innerHTML = colour.legend + (shown.some((i) => others.feasible[i]) ? `<span><i style="background:${grey}"></i>other feasible plans</span>` : "") + (shown.some((i) => !others.feasible[i]) ? `<span style="color:${warn}">× infeasible</span>` : "");
}
function labels(sx, sy, w, right, top, out) {
  // The named plans are named in the plot too, where there is room: each label takes the first free place around its dot.
  const taken = [];
  data.plans.forEach((p) => {
    const i = front.trial.indexOf(p.trial);
    if (i < 0 || !passes(i)) return;
    const x = sx.place(front[state.x][i]), y = sy.place(front[state.y][i]);
    if (x === undefined || y === undefined) return;
    const text = p.role.length > 34 ? p.role.slice(0, 33) + "…" : p.role, wide = text.length * 6.4;
    const places = [[14, 4, "start"], [-14, 4, "end"], [0, -16, "middle"], [0, 24, "middle"]];
    for (const [dx, dy, anchor] of places) {
      const x0 = x + dx - (anchor === "end" ? wide : anchor === "middle" ? wide / 2 : 0), box = [x0, y + dy - 12, x0 + wide, y + dy + 4];
      if (box[0] < 60 || box[2] > w - right + 4 || box[1] < top - 8) continue;
      if (taken.some((b) => b[0] < box[2] && box[0] < b[2] && b[1] < box[3] && box[1] < b[3])) continue;
      taken.push(box);
      out.push(`<text x="${x + dx}" y="${y + dy}" text-anchor="${anchor}" style="fill:${css("--ink")};paint-order:stroke;stroke:${css("--card")};stroke-width:4px;font-weight:600">${escaped(text)}</text>`);
      break;
    }
  });
}
function nearest(event) {
  const box = byId("scatter").getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  let best = null, least = 26 * 26;
  for (const p of points) {
    const d = (p.x - x) ** 2 + (p.y - y) ** 2 - (p.front ? 80 : 0);
    if (d <= least) { least = d; best = p; }
  }
  return best;
}
function facts(from, i) {
  return columns.filter((c) => from[c.key]).map((c) => [c, from[c.key][i]]).filter(([, v]) => v !== null && v !== undefined);
}
function planTitle(from, i) {
  const role = from === front ? roles.get(front.trial[i]) : "";
  return escaped(role || (from === front ? "On the front" : from.feasible[i] ? "Feasible, beaten by others" : "Infeasible"));
}
function show(p) {
  const tip = byId("tip");
  if (!p) { tip.hidden = true; return; }
  const list = facts(p.from, p.i).map(([c, v]) => `<dt${c.role === "goal" ? ' class="goal"' : ""}>${escaped(title(c.name))}</dt><dd${c.role === "goal" ? ' class="goal"' : ""}>${escaped(say(v, c))}</dd>`).join("");
  const why = p.from === others && !p.from.feasible[p.i] ? `<p>${escaped((p.from.reasons[p.i] || "").split(",").map((r) => r.replace("constraint:", "breaks ").replace(/_/g, " ")).join("; "))}</p>` : "";
  tip.innerHTML = `<h4>${planTitle(p.from, p.i)}</h4><dl class="kv">${list}</dl>${why}<p>trial ${p.from.trial[p.i]}</p>`;
  tip.hidden = false;
  const plot = tip.parentNode, w = tip.offsetWidth, h = tip.offsetHeight;
  const left = p.x + 18 + w < plot.clientWidth ? p.x + 18 : Math.max(8, p.x - 18 - w);
  tip.style.left = `${Math.min(left, plot.clientWidth - w - 8)}px`;
  tip.style.top = `${Math.max(8, Math.min(p.y - h / 2, plot.clientHeight - h - 8))}px`;
}
function pin(i) {
  state.pinned = i === state.pinned ? null : i;
  const box = byId("pinned");
  box.hidden = state.pinned === null;
  if (state.pinned !== null) {
    const list = facts(front, state.pinned).map(([c, v]) => `<div><dt${c.role === "goal" ? ' class="goal"' : ""} title="${escaped(c.about)}">${escaped(title(c.name))}</dt><dd>${escaped(say(v, c))}</dd></div>`).join("");
    box.innerHTML = `<h4>${planTitle(front, i)}</h4><dl class="kv">${list}</dl><p>Where its time and money go: <code>planner explain ${escaped(data.run)} ${front.trial[i]}</code></p><button type="button">Let go</button>`;
    box.querySelector("button").onclick = () => pin(state.pinned);
  }
  draw();
}

// ---- parallel coordinates ---------------------------------------------------------------------------------------
let axes = [];
function drawParallel() {
  const svg = byId("parallel"), wide = svg.parentNode;
  const varied = columns.filter((c) => c.role !== "figure" && (c.role === "goal" || new Set(front[c.key]).size > 1));
  if (size < 2 || !varied.length) { wide.hidden = true; return; }
  const gap = Math.max(118, wide.clientWidth / varied.length), w = gap * varied.length, h = 330, top = 64, bottom = 20;
  svg.style.width = `${w}px`;
  svg.setAttribute("viewBox", `0 0 ${w} ${h}`);
  axes = varied.map((c, k) => ({ c, x: gap * (k + 0.5), s: scale(c, [front[c.key]], h - bottom, top + 8) }));
  const colour = colouring(state.colour), keeps = new Set(kept), out = [];
  const path = (i) => "M" + axes.map((a) => `${a.x.toFixed(1)} ${(a.s.place(front[a.c.key][i]) ?? top).toFixed(1)}`).join("L");
  rows.filter((i) => !keeps.has(i)).forEach((i) => out.push(`<path d="${path(i)}" stroke="${css("--faint")}"/>`));
  const opacity = Math.max(0.18, Math.min(0.8, 30 / Math.sqrt(kept.length * 12)));
  kept.forEach((i) => out.push(`<path d="${path(i)}" stroke="${colour.of(front[state.colour]?.[i])}" stroke-opacity="${opacity}"/>`));
  [state.pinned, state.hovered].forEach((i) => { if (i !== null && i !== undefined && i >= 0) out.push(`<path d="${path(i)}" stroke="${css("--mark")}" style="stroke-width:2.6"/>`); });
  axes.forEach(({ c, x, s }, k) => {
    out.push(`<line class="axis" x1="${x}" x2="${x}" y1="${top}" y2="${h - bottom}"/>`);
    thinned(s.ticks).forEach(([at, text]) => out.push(`<text x="${x + 6}" y="${at + 4}" style="paint-order:stroke;stroke:${css("--card")};stroke-width:3.5px">${escaped(text.length > 13 ? text.slice(0, 12) + "…" : text)}</text>`));
    const arrow = c.maximized === null ? "" : c.maximized ? "↑ " : "↓ ", lines = folded(arrow + title(c.name), gap / 7.6);
    lines.forEach((line, n) => out.push(`<text class="title" x="${x}" y="${33 - 15 * (lines.length - 1 - n)}" text-anchor="middle">${escaped(line)}</text>`));
    if (unitOf(c)) out.push(`<text x="${x}" y="49" text-anchor="middle">${escaped(clipped(unitOf(c), gap / 6.6))}</text>`);
    const f = state.filters[c.key];
    if (f) out.push(`<rect class="brush" x="${x - 9}" width="18" y="${Math.min(f.a, f.b)}" height="${Math.abs(f.a - f.b)}" rx="3"/>`);
    out.push(`<rect class="hit" data-axis="${k}" x="${x - 22}" width="44" y="${top}" height="${h - bottom - top}"/>`);
  });
  svg.innerHTML = out.join("");
}
function folded(text, room) {
  const lines = [""];
  text.split(" ").forEach((word) => {
    const last = lines.length - 1, joined = `${lines[last]} ${word}`.trim();
    if (joined.length > room && lines[last] && lines.length < 2) lines.push(word); else lines[last] = joined;
  });
  return lines.map((line) => clipped(line, room));
}
const clipped = (text, room) => (text.length > room ? text.slice(0, Math.max(3, Math.floor(room) - 1)) + "…" : text);
function thinned(ticks) {
  const made = [];
  [...ticks].sort((a, b) => a[0] - b[0]).forEach((t) => { if (!made.length || t[0] - made[made.length - 1][0] >= 15) made.push(t); });
  return made;
}
function brush() {
  const svg = byId("parallel");
  let axis = null, start = 0;
  const at = (event) => event.clientY - svg.getBoundingClientRect().top;
  svg.addEventListener("pointerdown", (event) => {
    const k = event.target.dataset ? event.target.dataset.axis : undefined;
    if (k === undefined) return;
    axis = axes[+k]; start = at(event); svg.setPointerCapture(event.pointerId); event.preventDefault();
  });
  svg.addEventListener("pointermove", (event) => { if (axis) filter(axis, start, at(event)); });
  svg.addEventListener("pointerup", (event) => {
    if (axis && Math.abs(at(event) - start) < 4) { delete state.filters[axis.c.key]; refilter(); }
    axis = null;
  });
}
function filter(axis, a, b) {
  const low = Math.min(a, b), high = Math.max(a, b);
  state.filters[axis.c.key] = { a, b, test: (v) => { const y = axis.s.place(v); return y !== undefined && y >= low && y <= high; } };
  refilter();
}
function refilter() {
  kept = rows.filter(passes);
  byId("clear").hidden = !Object.keys(state.filters).length;
  draw();
}

// ---- the table ---------------------------------------------------------------------------------------------------
const FIRST = 100;
function drawTable() {
  const table = byId("plansTable"), head = table.tHead, body = table.tBodies[0];
  head.innerHTML = `<tr>${columns.map((c) => `<th scope="col" tabindex="0" data-key="${escaped(c.key)}" class="${c.word ? "" : "num"}" title="${escaped(c.about)}"${state.sort && state.sort.key === c.key ? ` aria-sort="${state.sort.up ? "ascending" : "descending"}"` : ""}>${escaped(title(c.name))}${unitOf(c) ? `<br>${escaped(unitOf(c))}` : ""}</th>`).join("")}</tr>`;
  const order = [...kept];
  if (state.sort) {
    const { key, up } = state.sort, list = front[key], levels = byKey[key].levels;
    const rank = (v) => (typeof v === "string" && levels ? levels.indexOf(v) : v);
    order.sort((i, j) => { const a = rank(list[i]), b = rank(list[j]); return a === null ? 1 : b === null ? -1 : (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1); });
  }
  const shown = state.all ? order : order.slice(0, FIRST);
  body.innerHTML = shown.map((i) => `<tr data-row="${i}" tabindex="0"${i === state.pinned ? ' class="on"' : ""}>${columns.map((c) => `<td class="${c.word ? "" : "num"}">${escaped(say(front[c.key][i], c, false))}</td>`).join("")}</tr>`).join("");
  byId("more").hidden = shown.length === order.length;
  byId("more").textContent = `Show all ${order.length.toLocaleString("en-US")} rows`;
}
function sortBy(key) {
  const c = byKey[key];
  state.sort = { key, up: state.sort && state.sort.key === key ? !state.sort.up : !(c.maximized === true) };
  drawTable();
}

// ---- controls --------------------------------------------------------------------------------------------------
function controls() {
  const box = byId("controls");
  const options = (list, chosen) => list.map((c) => `<option value="${escaped(c.key)}"${c.key === chosen ? " selected" : ""}>${escaped(title(c.name))}</option>`).join("");
  const axis = columns.filter((c) => c.role !== "figure" || !c.word);
  box.innerHTML = `<label>across <select id="x">${options(axis, state.x)}</select></label><label>up <select id="y">${options(axis, state.y)}</select></label><label>colour <select id="colour">${options(columns, state.colour)}</select></label>` +
    `<label><input type="checkbox" id="logx"> log across</label><label><input type="checkbox" id="logy"> log up</label>` +
    ((others.feasible || []).some((v) => v) ? '<label><input type="checkbox" id="feasible" checked> other feasible plans</label>' : "") +
    ((others.feasible || []).some((v) => !v) ? '<label><input type="checkbox" id="infeasible"> infeasible ones</label>' : "");
  const isLog = (key) => scale(byKey[key], [front[key], (others[key] || []).filter((_, i) => others.feasible[i])], 0, 1).log;
  const tick = () => { byId("logx").checked = isLog(state.x); byId("logy").checked = isLog(state.y); };
  if (size) tick();
  for (const key of ["x", "y", "colour"]) byId(key).onchange = (e) => { state[key] = e.target.value; if (key !== "colour") { state[`log${key}`] = undefined; tick(); } draw(); };
  for (const key of ["logx", "logy", "feasible", "infeasible"]) if (byId(key)) byId(key).onchange = (e) => { state[key] = e.target.checked; draw(); };
}
function draw() { drawScatter(); drawParallel(); drawTable(); }

if (!size) { for (const id of ["front", "table"]) byId(id).hidden = true; return; }
controls();
brush();
const svg = byId("scatter");
const hover = (p) => {
  const i = p && p.front ? p.i : null;
  if (i !== state.hovered) { state.hovered = i; drawScatter(); drawParallel(); }
  show(p);
};
svg.addEventListener("pointermove", (e) => hover(nearest(e)));
svg.addEventListener("pointerleave", () => hover(null));
svg.addEventListener("click", (e) => { const p = nearest(e); if (p && p.front) pin(p.i); else show(p); });
const table = byId("plansTable");
table.addEventListener("click", (e) => {
  const th = e.target.closest("th"), tr = e.target.closest("tbody tr");
  if (th) sortBy(th.dataset.key);
  else if (tr) { pin(+tr.dataset.row); }
});
table.addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); e.target.click(); } });
byId("more").onclick = () => { state.all = true; drawTable(); };
byId("clear").onclick = () => { state.filters = {}; refilter(); };
document.querySelectorAll(".card").forEach((card) => {
  const i = front.trial.indexOf(+card.dataset.trial);
  card.addEventListener("pointerenter", () => { state.hovered = i; drawScatter(); drawParallel(); });
  card.addEventListener("pointerleave", () => { state.hovered = null; drawScatter(); drawParallel(); });
});
dark.addEventListener("change", draw);
let width = 0;
new ResizeObserver(() => { if (innerWidth !== width) { width = innerWidth; draw(); } }).observe(document.body);
draw();
document.documentElement.dataset.ready = "yes";
})();
