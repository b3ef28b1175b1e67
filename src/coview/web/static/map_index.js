// Which point is nearest, and which names fit: no drawing in here.

/** Points in cells of a grid, so that the nearest one is found without looking at all of them. */
export function grid(places) {
  const n = places.length / 2;
  const side = Math.min(Math.max(Math.ceil(Math.sqrt(n / 4)), 1), 512);
  const cell = (v) => Math.min(Math.max(Math.floor(v * side), 0), side - 1);
  const starts = new Int32Array(side * side + 1);
  const cellOf = new Int32Array(n);
  for (let i = 0; i < n; i++) {
    cellOf[i] = cell(places[2 * i + 1]) * side + cell(places[2 * i]);
    starts[cellOf[i] + 1]++;
  }
  for (let c = 0; c < side * side; c++) starts[c + 1] += starts[c];
  const next = starts.slice(0, -1), points = new Int32Array(n);
  for (let i = 0; i < n; i++) points[next[cellOf[i]]++] = i;

  /** The point nearest to a place among those no farther than a number of pixels, or -1; kx and ky are pixels per unit. */
  return (x, y, kx, ky, pixels, counts = () => true) => {
    let best = -1, least = pixels * pixels;
    const [left, right] = [cell(x - pixels / kx), cell(x + pixels / kx)];
    const [low, high] = [cell(y - pixels / ky), cell(y + pixels / ky)];
    for (let row = low; row <= high; row++) {
      for (let k = starts[row * side + left]; k < starts[row * side + right + 1]; k++) {
        const i = points[k], dx = (places[2 * i] - x) * kx, dy = (places[2 * i + 1] - y) * ky;
        const far = dx * dx + dy * dy;
        if (far <= least && counts(i)) [best, least] = [i, far];
      }
    }
    return best;
  };
}

/** Which of some boxes, [x, y, width, height] by their middles, can be shown without overlap; those that come first stay. */
export function withoutOverlap(boxes) {
  const kept = [];
  return boxes.map(([x, y, w, h]) => {
    if (kept.some(([u, v, a, b]) => 2 * Math.abs(x - u) < w + a && 2 * Math.abs(y - v) < h + b)) return false;
    kept.push([x, y, w, h]);
    return true;
  });
}

/** The bytes of a text in base64, as an array of a kind. */
export function unpacked(text, Kind) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Kind(bytes.buffer);
}
