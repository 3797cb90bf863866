// The chart's scales: where a value stands, which ticks an axis has, and how they are written.

const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];

function scale(values, logarithmic, from, to, zero) {
  let low = Math.min(...values), high = Math.max(...values);
  if (!logarithmic && zero && low > 0) low = 0;
  if (low === high) { low = logarithmic ? low / 2 : low - 1; high = logarithmic ? high * 2 : high + 1; }
  const map = logarithmic ? Math.log : (value) => value;
  const reach = map(high) - map(low);
  return { low: low, high: high, logarithmic: logarithmic, at: (value) => from + ((map(value) - map(low)) / reach) * (to - from) };
}

// Logarithmic: 1, 2, 5 within two decades (more within one), powers of ten beyond, each decade or every few.
function ticks(axis, wanted) {
  if (axis.logarithmic) {
    const decades = Math.log10(axis.high / axis.low), found = [];
    for (let power = Math.floor(Math.log10(axis.low)); power <= Math.log10(axis.high) + 1e-9; power += 1) {
      for (const factor of decades <= 1 ? [1, 1.5, 2, 3, 4, 5, 7] : decades <= 2 ? [1, 2, 5] : [1]) found.push(Number((factor * 10 ** power).toPrecision(3)));
    }
    const inside = found.filter((value) => value >= axis.low / 1.0000001 && value <= axis.high * 1.0000001);
    if (inside.length >= 2) return inside.filter((_, index) => index % Math.ceil(inside.length / 9) === 0);
  }
  const rough = (axis.high - axis.low) / wanted, unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * unit).find((one) => one >= rough * 0.9999), found = [];
  for (let value = Math.ceil(axis.low / step - 1e-9) * step; value <= axis.high + step * 1e-6; value += step) found.push(Number(value.toPrecision(10)));
  return found;
}

function tickText(value) {
  const size = Math.abs(value);
  if (value === 0 || (size >= 0.01 && size < 10000)) return String(Number(value.toPrecision(4)));
  const [unit, prefix] = PREFIXES.find((entry) => size >= entry[0] * 0.9999) || PREFIXES[PREFIXES.length - 1];
  return Number((value / unit).toPrecision(4)) + (prefix ? "\u202f" + prefix : "");
}
