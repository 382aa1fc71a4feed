const options = {
  renderer: "canvas",  // SVG is slow with thousands of points
  actions: {export: true, source: false, compiled: false, editor: false},
};
const views = [];

async function drawChart(figure) {
  const container = figure.querySelector(".chart");
  const spec = JSON.parse(figure.querySelector("script").textContent);
  const width = container.clientWidth;
  spec.config.legend.columns = Math.max(1, Math.floor(width / 160));
  if (spec.columns) {  // number of panels side by side: as many as fit, or two by two
    const fitting = Math.max(1, Math.floor((width - 60) / 232));
    spec.columns = spec.columns > fitting && fitting > 2 ? 2 : Math.min(spec.columns, fitting);
  } else {
    spec.width = Math.max(200, Math.min(spec.width, width - 80));
  }
  try {
    const result = await vegaEmbed(container, spec, {...options, downloadFileName: figure.id});
    views.push(result.view);
  } catch (error) {
    container.textContent = `This chart could not be drawn: ${error.message}`;
    console.error(error);
  }
}

async function drawAllCharts() {
  for (const figure of document.querySelectorAll("figure")) {
    await drawChart(figure);
    await new Promise(resume => setTimeout(resume));  // let the browser show it
  }
  document.body.dataset.drawn = views.length;
}

drawAllCharts();
// Print vector graphics instead of pixels.
addEventListener("beforeprint", () => views.forEach(view => view.renderer("svg").run()));
addEventListener("afterprint", () => views.forEach(view => view.renderer("canvas").run()));
