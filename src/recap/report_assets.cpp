#include "recap/report_assets.h"

namespace flexor::recap {

// The strip of pictures stands exactly above the plots' axes, which leave 64 and 20 of 1120 units free at their sides.
const std::string_view kReportStyle = R"(
body { max-width: 1320px; }
h3 { font-size: 16px; margin: 26px 0 2px; }
.lead { color: var(--fore); font-size: 16px; max-width: 80ch; }
.missing { border-left: 3px solid var(--c5); padding-left: 10px; }
.warn { color: var(--fore); border-left: 3px solid var(--c1); padding-left: 10px; }
nav { margin: 10px 0 0; font-size: 14px; } nav a { color: var(--c0); margin-right: 16px; }
table.rates { margin-top: 12px; }
table.rates td.number, table.rates th.number { text-align: right; }
table.rates td { max-width: 46ch; }
.bar { display: inline-block; width: 130px; height: 10px; background: var(--rule); border-radius: 3px; margin-right: 8px; }
.bar i { display: block; height: 10px; background: var(--c0); border-radius: 3px; }
.episode { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 10px 12px 8px; margin: 16px 0; }
.episode h3 { margin: 0; } .episode p { margin: 2px 0; }
.episode svg.plot { cursor: crosshair; margin-top: 6px; }
.shots { display: flex; gap: 3px; margin: 8px 1.786% 0 5.714%; }
.shots figure { flex: 1 1 0; min-width: 0; margin: 0; }
.shots img { display: block; width: 100%; height: auto; border-bottom: 5px solid var(--rule); border-radius: 3px; transition: transform 0.12s; }
.shots .positive img { border-color: var(--c0); } .shots .negative img { border-color: var(--c1); }
.shots img:hover { transform: scale(2); position: relative; z-index: 3; }
.shots .now figcaption { color: var(--fore); font-weight: 600; }
.shots figcaption { color: var(--soft); font-size: 11.5px; font-variant-numeric: tabular-nums; white-space: nowrap; overflow: hidden; }
.shots .broken { font-size: 11px; color: var(--soft); border: 1px dashed var(--soft); padding: 4px; overflow: hidden; max-height: 90px; }
.labels { display: flex; height: 9px; margin: 4px 1.786% 0 5.714%; border-radius: 3px; overflow: hidden; }
.labels .positive { background: var(--c0); } .labels .negative { background: var(--c1); }
.key { color: var(--soft); font-size: 12.5px; } .key i { display: inline-block; width: 11px; height: 9px; margin: 0 4px 0 12px; }
.key .positive { background: var(--c0); } .key .negative { background: var(--c1); }
.read { min-height: 1.5em; font-variant-numeric: tabular-nums; color: var(--fore); }
svg .band.level { opacity: 1; }
svg .cursor { stroke: var(--fore); stroke-width: 1; opacity: 0.6; }
@media print { .episode { break-inside: avoid; } nav { display: none; } }
)";

const std::string_view kReportScript = R"JS(
(() => {
'use strict';
const SVG = 'http://www.w3.org/2000/svg';
const episodes = JSON.parse(document.getElementById('episodes').textContent);
const show = value => String(parseFloat(value.toPrecision(4)));
document.querySelectorAll('.episode').forEach((section, number) => {
  const data = episodes[number], read = section.querySelector('.read');
  const shots = [...section.querySelectorAll('.shots figure')];
  const plots = [...section.querySelectorAll('svg.plot')].filter(svg => svg.dataset.x).map(svg => {
    const [left, right, low, high] = svg.dataset.x.split(' ').map(Number);
    const [bottom, top] = svg.dataset.y.split(' ').map(Number);
    const line = document.createElementNS(SVG, 'line');
    for (const [key, value] of [['class', 'cursor'], ['y1', top], ['y2', bottom], ['visibility', 'hidden']]) line.setAttribute(key, value);
    svg.append(line);
    return {svg, line, left, right, low, high};
  });
  const move = place => {
    const at = Math.max(0, Math.min(data.score.length - 1, place)), frame = data.first + at * data.step, time = at * data.step / data.fps;
    for (const plot of plots) {
      const x = plot.left + (time - plot.low) / (plot.high - plot.low) * (plot.right - plot.left);
      plot.line.setAttribute('x1', x); plot.line.setAttribute('x2', x); plot.line.setAttribute('visibility', 'visible');
    }
    let text = 'frame ' + frame + (data.timed ? ' · ' + time.toFixed(2) + ' s' : '');
    if (data.value.length) text += ' · V ' + show(data.value[at]);
    if (data.target.length) text += ' · return ' + show(data.target[at]);
    text += ' · ' + data.name + ' ' + show(data.score[at]) + (data.label[at] === '1' ? ' · positive' : ' · negative');
    read.textContent = text;
    let best = null;
    for (const shot of shots) if (!best || Math.abs(shot.dataset.frame - frame) < Math.abs(best.dataset.frame - frame)) best = shot;
    shots.forEach(shot => shot.classList.toggle('now', best && shot.dataset.frame === best.dataset.frame));
  };
  plots.forEach(plot => plot.svg.addEventListener('pointermove', event => {
    const box = plot.svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * plot.svg.viewBox.baseVal.width;
    move(Math.round((plot.low + (x - plot.left) / (plot.right - plot.left) * (plot.high - plot.low)) * data.fps / data.step));
  }));
});
document.documentElement.dataset.ready = 'yes';
})();
)JS";

}  // namespace flexor::recap
