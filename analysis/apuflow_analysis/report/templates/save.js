// Saving what is shown: a picture of the chart with its lines named, and files in general.

const LOOK = [[".gridline", { stroke: "#e1e5e9" }], [".frame", { stroke: "#5a646d", fill: "none" }], ["text", { fill: "#1d2328" }]];
const ENTRY = 18;

function download(name, blob) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// A copy that needs no style sheet: white paper, the title above, one entry per line below, then a note.
function standalone(picture, title, lines, note) {
  const [, , width, height] = picture.getAttribute("viewBox").split(" ").map(Number);
  const tall = height + 26 + ENTRY * (lines.length + 1) + 8;
  const copy = picture.cloneNode(true);
  for (const [selector, look] of LOOK) {
    for (const node of copy.querySelectorAll(selector)) for (const [key, value] of Object.entries(look)) node.setAttribute(key, value);
  }
  const body = drawn("g", { transform: "translate(0 26)" }, ...copy.childNodes);
  for (const node of body.querySelectorAll("[fill='var(--ink)']")) node.setAttribute("fill", "#000000");
  for (const node of body.querySelectorAll("[fill='var(--paper)']")) node.setAttribute("fill", "#ffffff");
  for (const node of body.querySelectorAll("[stroke='var(--ink)']")) node.setAttribute("stroke", "#000000");
  const whole = drawn("svg", { xmlns: SVG, width: width, height: tall, viewBox: "0 0 " + width + " " + tall, "font-family": "system-ui, DejaVu Sans, Verdana, sans-serif", "font-size": 12 });
  whole.append(drawn("rect", { width: width, height: tall, fill: "#ffffff" }), drawn("text", { x: 8, y: 18, "font-weight": "bold", fill: "#1d2328" }, title), body);
  lines.forEach((line, index) => {
    const y = height + 34 + ENTRY * index, colour = line.colour === "var(--ink)" ? "#000000" : line.colour;
    whole.append(drawn("line", { x1: 12, x2: 42, y1: y, y2: y, stroke: colour, "stroke-width": 2, "stroke-dasharray": line.dash || null }), drawn("text", { x: 50, y: y + 4, fill: "#1d2328" }, line.name));
  });
  whole.append(drawn("text", { x: 12, y: height + 38 + ENTRY * lines.length, "font-size": 11, fill: "#5a646d" }, note));
  return { text: new XMLSerializer().serializeToString(whole), width: width, height: tall };
}

function savePicture(name, kind, saved) {
  if (kind === "svg") { download(name + ".svg", new Blob([saved.text], { type: "image/svg+xml" })); return; }
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = element("canvas", { width: saved.width * 2, height: saved.height * 2 });
    const pen = canvas.getContext("2d");
    pen.scale(2, 2);
    pen.drawImage(image, 0, 0, saved.width, saved.height);
    canvas.toBlob((blob) => download(name + ".png", blob), "image/png");
  });
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(saved.text);
}
