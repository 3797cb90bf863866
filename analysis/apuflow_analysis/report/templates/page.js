// Start: the data stand in the page itself; what a reader has set can stand in its address.

const VIEW = "#view=";

function kept() {
  if (!location.hash.startsWith(VIEW)) return {};
  try {
    const found = JSON.parse(decodeURIComponent(location.hash.slice(VIEW.length)));
    return typeof found === "object" && found !== null ? found : {};
  } catch { return {}; }
}

addEventListener("DOMContentLoaded", () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const view = kept();
  const chart = buildChart(document.getElementById("chart"), data, view.chart || {});
  const table = buildTable(document.getElementById("rows"), data, view.table || {});
  const said = element("span", { role: "status" });
  const share = element("button", { type: "button", click: () => {
    const text = JSON.stringify({ chart: chart(), table: table() });
    history.replaceState(null, "", VIEW + encodeURIComponent(text));
    const done = () => { said.textContent = "The page's address now leads back to this view; it is copied."; };
    const only = () => { said.textContent = "The page's address now leads back to this view."; };
    if (navigator.clipboard) navigator.clipboard.writeText(location.href).then(done, only); else only();
  } }, "Link to this view");
  document.getElementById("share").append(share, said);
  if (location.hash.startsWith(VIEW)) document.getElementById("explore").scrollIntoView();
});

addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("#definitions details")) details.open = true;
});
