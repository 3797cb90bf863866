// Start: the data stand in the page itself.

addEventListener("DOMContentLoaded", () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  buildChart(document.getElementById("chart"), data);
  buildTable(document.getElementById("rows"), data);
});

addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("#definitions details")) details.open = true;
});
