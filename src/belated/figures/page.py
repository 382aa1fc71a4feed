"""The page of a report: its frame, its style and the script that draws its charts."""

from typing import Final

PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data: blob:; \
style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'">
<title>$title</title>
<style>
$style</style>
</head>
<body>
<header>
<h1>$title</h1>
$text
<nav><ul>$contents</ul></nav>
<noscript><p>The charts need JavaScript; the tables do not.</p></noscript>
</header>
<main>
$sections
</main>
<footer>Made by belated $version.</footer>
$scripts
</body>
</html>
"""
"""The policy forbids whatever would reach for a network. Vega compiles expressions: hence eval."""

STYLE: Final = """\
:root { color-scheme: light; }
body {
  margin: 0 auto; padding: 1rem; max-width: 72rem;
  font: 1rem/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
}
h1 { font-size: 1.7rem; line-height: 1.2; margin: 1rem 0; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 1rem; border-bottom: 1px solid #ccc; }
p { max-width: 46rem; }
nav ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
a { color: #0060a0; }
figure { margin: 0 0 2.5rem; }
figcaption { font-size: .875rem; color: #444; max-width: 60rem; }
figcaption strong { color: #1a1a1a; }
figcaption code { display: block; color: #666; overflow-wrap: anywhere; }
code, pre { font: .8125rem/1.5 ui-monospace, monospace; }
pre { overflow-x: auto; padding: .75rem; background: #f6f6f6; }
.chart { overflow-x: auto; }
.chart.vega-embed { display: block; padding-right: 0; }
.vega-bindings { font-size: .875rem; }
.table { overflow-x: auto; margin-bottom: 2rem; }
table { border-collapse: collapse; font-size: .8125rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .5rem; color: #444; }
th, td { text-align: left; vertical-align: top; padding: .3rem .75rem .3rem 0; }
th { border-bottom: 2px solid #999; }
td { border-bottom: 1px solid #e2e2e2; }
.number { text-align: right; }
.number, .short { white-space: nowrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.5rem; }
dt, dd { font-size: .875rem; }
dt { color: #555; }
dd { margin: 0; overflow-wrap: anywhere; }
footer { margin-top: 3rem; font-size: .875rem; color: #666; }
@media (max-width: 40rem) {
  dl { grid-template-columns: 1fr; }
  dd { margin-bottom: .5rem; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav, details, .vega-bindings { display: none; }
  figure, tr { break-inside: avoid; }
  h2 { break-after: avoid; }
  .chart, .table { overflow: visible; }
  .chart svg { max-width: 100%; height: auto; }
  table { font-size: 7pt; }
  th, td { padding-right: .4rem; }
}
"""

SCRIPT: Final = """\
const options = {
  renderer: "canvas",  // thousands of points are too many elements
  actions: {export: true, source: false, compiled: false, editor: false},
};
const views = [];
async function draw(figure) {
  const place = figure.querySelector(".chart");
  const spec = JSON.parse(figure.querySelector("script").textContent);
  const width = place.clientWidth;
  spec.config.legend.columns = Math.max(1, Math.floor(width / 160));
  if (spec.columns) {  // of panels: as many as fit, or two by two
    const room = Math.max(1, Math.floor((width - 60) / 232));
    spec.columns = spec.columns > room && room > 2 ? 2 : Math.min(spec.columns, room);
  } else {
    spec.width = Math.max(200, Math.min(spec.width, width - 80));
  }
  try {
    const made = await vegaEmbed(place, spec, {...options, downloadFileName: figure.id});
    views.push(made.view);
  } catch (error) {
    place.textContent = `This chart could not be drawn: ${error.message}`;
    console.error(error);
  }
}
async function drawAll() {
  for (const figure of document.querySelectorAll("figure")) {
    await draw(figure);
    await new Promise(next => setTimeout(next));  // show it before the next one
  }
  document.body.dataset.drawn = views.length;
}
drawAll();
// Paper deserves lines, not pixels.
addEventListener("beforeprint", () => views.forEach(view => view.renderer("svg").run()));
addEventListener("afterprint", () => views.forEach(view => view.renderer("canvas").run()));
"""
