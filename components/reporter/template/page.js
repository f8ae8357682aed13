"use strict";
(() => {
  const root = document.documentElement;
  const charts = [...document.querySelectorAll(".chart")];

  // A figure names colours of the style ("@good"); they are looked up anew whenever the theme changes.
  const coloured = (value, style) => {
    if (typeof value === "string" && value.startsWith("@")) return style.getPropertyValue("--" + value.slice(1)).trim();
    if (Array.isArray(value)) return value.map((part) => coloured(part, style));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, coloured(part, style)]));
    }
    return value;
  };

  const axes = (layout, style, narrow) => Object.fromEntries(
    Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key)).map((key) => [key, {
      gridcolor: style.getPropertyValue("--line").trim(),
      linecolor: style.getPropertyValue("--line").trim(),
      zeroline: false, automargin: true, fixedrange: true,
      tickfont: { size: narrow ? 10 : 12 },
      ...layout[key],
    }]));

  const draw = (chart) => {
    const figure = JSON.parse(document.getElementById(chart.dataset.figure).textContent);
    const style = getComputedStyle(root);
    const narrow = chart.clientWidth < 520;
    const layout = coloured(figure.layout, style);
    const font = { family: getComputedStyle(document.body).fontFamily, size: 13, color: style.getPropertyValue("--soft").trim() };
    const margin = { l: 10, r: 14, t: 14, b: 10 };
    const legend = { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 };
    return Plotly.react(chart, coloured(figure.data, style), {
      height: narrow ? 280 : 340, font, margin, legend, dragmode: false, hovermode: "closest",
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", ...layout, ...axes(layout, style, narrow),
    }, { displayModeBar: false, responsive: true });
  };

  const drawAll = () => { if (window.Plotly) charts.forEach(draw); };
  drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);

  // Paper is white, and what is folded could not be opened on it.
  let folded = [];
  addEventListener("beforeprint", () => {
    root.dataset.theme = "light";
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((details) => { details.open = true; });
    drawAll();
  });
  addEventListener("afterprint", () => {
    delete root.dataset.theme;
    folded.forEach((details) => { details.open = false; });
    drawAll();
  });
})();
