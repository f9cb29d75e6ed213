#include "curate/episode_page_assets.h"

namespace flexor::curate {

const std::string_view kEpisodePageStyle = R"(
body { max-width: 1560px; }
.viewer { display: none; position: sticky; top: 0; z-index: 2; background: var(--back); padding: 8px 0 6px;
  border-bottom: 1px solid var(--rule); }
.js .viewer { display: block; }
.views { display: flex; gap: 10px; overflow-x: auto; }
.views figure { margin: 0; flex: none; }
.views img, .views video { display: block; height: min(30vh, 260px); min-height: 110px; width: auto; border-radius: 6px; background: var(--card);
  border: 1px solid var(--rule); }
.views figcaption, .strip figcaption { color: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; margin-top: 2px; }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 12px; margin-top: 6px; }
.bar input[type=range] { flex: 1 1 260px; accent-color: var(--c0); }
.bar output { min-width: 13em; font-variant-numeric: tabular-nums; }
.bar label { color: var(--soft); font-size: 13px; white-space: nowrap; }
button { font: inherit; color: var(--fore); background: var(--card); border: 1px solid var(--rule); border-radius: 6px; padding: 2px 12px;
  cursor: pointer; }
.ribbon { display: flex; height: 26px; margin: 6px 0 0; border-radius: 6px; overflow: hidden; position: relative; }
.ribbon span { overflow: hidden; white-space: nowrap; text-overflow: ellipsis; padding: 3px 8px; font-size: 13px; color: #fff; min-width: 0; }
.ribbon .t0 { background: #2b6690; } .ribbon .t1 { background: #9c4a12; } .ribbon .t2 { background: #1d6e55; }
.ribbon .t3 { background: #7b4069; } .ribbon .t4 { background: #735410; } .ribbon .t5 { background: #44576a; }
.ribbon i { position: absolute; top: 0; bottom: 0; width: 2px; background: #fff; display: none; } .js .ribbon i { display: block; }
.strip { display: flex; gap: 6px; overflow-x: auto; padding-bottom: 6px; }
.strip figure { margin: 0; flex: none; cursor: pointer; }
.strip img { display: block; height: 110px; width: auto; border-radius: 4px; border: 2px solid transparent; }
.strip figure.now img { border-color: var(--c1); }
.strip .broken { height: 110px; width: 150px; overflow: hidden; font-size: 11px; padding: 6px; color: var(--soft); background: var(--card);
  border: 1px dashed var(--soft); border-radius: 4px; }
.plots.small { grid-template-columns: repeat(auto-fill, minmax(min(100%, 360px), 1fr)); gap: 10px; }
.plots.small figure { padding: 4px 6px 0; position: relative; cursor: crosshair; content-visibility: auto; contain-intrinsic-size: auto 190px; }
.plots.small polyline.line0 { stroke-width: 3.4; opacity: 0.55; } .plots.small polyline.line1 { stroke-width: 1.3; }
svg .band.q { opacity: 0.10; } svg .band.std { opacity: 0.16; }
.no-q svg .band.q, .no-std svg .band.std { display: none; }
svg .cursor { stroke: var(--fore); stroke-width: 1; opacity: 0.55; } svg .dot { stroke: var(--card); stroke-width: 1.5; }
svg .read { font-size: 12px; font-variant-numeric: tabular-nums; }
.js .task { display: none; }
.warn { color: var(--fore); border-left: 3px solid var(--c1); padding-left: 10px; }
@media (max-height: 620px) { .viewer { position: static; } }
@media print { .viewer { display: none !important; } .js .task { display: block; } .strip { flex-wrap: wrap; } .strip img { height: 80px; } }
)";

const std::string_view kEpisodePageScript = R"JS(
(() => {
'use strict';
const data = JSON.parse(document.getElementById('episode').textContent);
const root = document.documentElement, find = id => document.getElementById(id), SVG = 'http://www.w3.org/2000/svg';
root.classList.add('js');
const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
const floats = text => new Float32Array(bytes(text).buffer);
const show = value => Number.isFinite(value) ? String(parseFloat(value.toPrecision(4))) : String(value);
const add = (parent, name, attributes) => {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  return parent.appendChild(element);
};

// Plots: a cursor, a dot on each curve, and the values beside the title.
const plots = [...document.querySelectorAll('figure[data-plot]')].map(figure => {
  const svg = figure.querySelector('svg'), axis = key => (svg.dataset[key] || '').split(' ').map(Number);
  const [left, right, from, to] = axis('x'), [bottom, top, low, high] = axis('y');
  const plot = {figure, svg, left, right, from, to, visible: true};
  plot.x = time => left + (time - from) / (to - from) * (right - left);
  plot.y = value => bottom - (value - low) / (high - low) * (bottom - top);
  const layer = add(svg, 'g', {'pointer-events': 'none'});
  plot.line = add(layer, 'line', {class: 'cursor', y1: top, y2: bottom});
  const text = add(layer, 'text', {class: 'read', x: right, y: 16, 'text-anchor': 'end'});
  plot.curves = data.plots[+figure.dataset.plot].curves.map(([label, colour, values], i) => ({
    label, values: floats(values), dot: add(layer, 'circle', {class: 'dot fill' + colour, r: 4}),
    read: add(text, 'tspan', {class: 'fill' + colour, dx: i ? 10 : 0})}));
  return plot;
});
const draw = plot => {
  const at = Math.min(Math.round(frame / data.step), Math.ceil(data.frames / data.step) - 1), x = plot.x(at * data.step / data.fps);
  plot.line.setAttribute('x1', x); plot.line.setAttribute('x2', x);
  for (const curve of plot.curves) {
    const value = curve.values[at], finite = Number.isFinite(value);
    curve.dot.setAttribute('visibility', finite ? 'visible' : 'hidden');
    if (finite) { curve.dot.setAttribute('cx', x); curve.dot.setAttribute('cy', plot.y(value)); }
    curve.read.textContent = (plot.curves.length > 1 ? curve.label + ' ' : '') + show(value);
  }
};
if ('IntersectionObserver' in window) {
  const watcher = new IntersectionObserver(entries => entries.forEach(entry => {
    const plot = plots[entry.target.dataset.plot];
    plot.visible = entry.isIntersecting;
    if (plot.visible) draw(plot);
  }), {rootMargin: '200px'});
  plots.forEach(plot => watcher.observe(plot.figure));
}

// Cameras: the nearest picture of the strip, or the video at that very frame.
const cameras = [...document.querySelectorAll('.strip')].map((strip, i) => {
  const view = document.querySelectorAll('.views figure')[i], source = find('video' + i), camera = {view};
  camera.shots = [...strip.querySelectorAll('figure')].map(figure => ({figure, frame: +figure.dataset.frame, image: figure.querySelector('img')}));
  camera.shots.forEach(shot => shot.figure.addEventListener('click', () => go(shot.frame)));
  if (source) {
    const video = document.createElement('video');
    video.muted = true; video.playsInline = true; video.preload = 'auto';
    video.src = URL.createObjectURL(new Blob([bytes(source.textContent.trim())], {type: 'video/mp4'}));
    view.querySelector('img').replaceWith(video);
    camera.video = video;
  }
  return camera;
});
const videos = cameras.map(camera => camera.video).filter(Boolean);
const drawCamera = camera => {
  let best = camera.shots[0];
  for (const shot of camera.shots) if (Math.abs(shot.frame - frame) < Math.abs(best.frame - frame)) best = shot;
  if (best !== camera.now) {
    if (camera.now) camera.now.figure.classList.remove('now');
    best.figure.classList.add('now');
    camera.now = best;
  }
  const caption = camera.view.querySelector('span');
  if (camera.video) {
    if (!playing) camera.video.currentTime = (frame + 0.5) / data.fps;
    caption.textContent = 'frame ' + frame;
  } else {
    const image = camera.view.querySelector('img');
    if (best.image && image.src !== best.image.src) image.src = best.image.src;
    caption.textContent = best.image ? 'frame ' + best.frame : 'frame ' + best.frame + ': no picture';
  }
};

let frame = 0, playing = false, wanted = 0, asked = false;
const slider = find('seek'), now = find('now'), mark = find('mark');
const update = () => {
  asked = false;
  frame = Math.max(0, Math.min(data.frames - 1, wanted));
  slider.value = frame;
  now.textContent = 'frame ' + frame + ' of ' + data.frames + ' · ' + (frame / data.fps).toFixed(2) + ' s';
  mark.style.left = (100 * (frame + 0.5) / data.frames) + '%';
  cameras.forEach(drawCamera);
  plots.forEach(plot => { if (plot.visible) draw(plot); });
};
const go = value => { wanted = value; if (!asked) { asked = true; requestAnimationFrame(update); } };

const button = find('play');
let started = 0, first = 0;
const tick = () => {
  if (!playing) return;
  const seconds = videos.length ? videos[0].currentTime : (performance.now() - started) / 1000 + first / data.fps;
  const at = Math.floor(seconds * data.fps + 1e-3), over = at >= data.frames - 1 || (videos.length && videos[0].ended);
  go(at);
  if (over) play(false); else requestAnimationFrame(tick);
};
const play = on => {
  playing = on;
  button.textContent = on ? '❚❚ pause' : '▶ play';
  if (!on) { videos.forEach(video => video.pause()); return; }
  if (frame >= data.frames - 1) { frame = 0; videos.forEach(video => { video.currentTime = 0; }); }
  first = frame; started = performance.now();
  videos.forEach(video => video.play().catch(() => {}));
  requestAnimationFrame(tick);
};
button.addEventListener('click', () => play(!playing));
slider.addEventListener('input', () => { play(false); go(+slider.value); });
document.addEventListener('keydown', event => {
  const steps = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10}[event.key];
  if (event.target !== slider && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) { play(false); go(frame + steps); event.preventDefault(); }
  if (event.key === ' ' && event.target === document.body) { play(!playing); event.preventDefault(); }
});
plots.forEach(plot => plot.figure.addEventListener('pointermove', event => {
  if (playing || !plot.curves.length) return;
  const box = plot.svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * plot.svg.viewBox.baseVal.width;
  go(Math.round((plot.from + (x - plot.left) / (plot.right - plot.left) * (plot.to - plot.from)) * data.fps));
}));
for (const kind of ['std', 'q']) {
  const box = find('band-' + kind);
  if (box) box.addEventListener('change', () => root.classList.toggle('no-' + kind, !box.checked));
}
update();
root.dataset.ready = 'yes';
})();
)JS";

}  // namespace flexor::curate
