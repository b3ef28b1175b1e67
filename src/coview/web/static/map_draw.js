// The points of the map: by WebGL, or pixel by pixel on a canvas where there is none. Both take the same arrays: places
// (x and y of each point, 0 to 1, y upwards), looks (red, green, blue and a state of each point), and an order to draw in.

export const DIM = 0; // states: in the background, as usual, and in front
export const PLAIN = 1;
export const MARKED = 2;

const VERTEX = `#version 300 es
in vec2 place;
in vec4 look;
uniform vec2 scale;
uniform vec2 shift;
uniform float size;
out vec4 color;
out float width;
void main() {
  float state = look.a * 255.0;
  gl_Position = vec4(place * scale + shift, 0.0, 1.0);
  width = state > 1.5 ? size * 1.5 + 1.0 : size;
  gl_PointSize = width;
  color = vec4(look.rgb, state < 0.5 ? 0.10 : state > 1.5 ? 1.0 : 0.75);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 color;
in float width;
out vec4 drawn;
void main() {
  float alpha = color.a * clamp(0.5 + width * (0.5 - length(gl_PointCoord - 0.5)), 0.0, 1.0);
  drawn = vec4(color.rgb * alpha, alpha);
}`;

/** What draws on a canvas, or null where there is no WebGL, or one without a graphics card, which is slower than pixels. */
export function webgl(canvas) {
  const gl = canvas.getContext("webgl2", { antialias: false, failIfMajorPerformanceCaveat: true });
  if (!gl) return null;
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
  gl.useProgram(program);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  const at = (name) => gl.getUniformLocation(program, name);
  const [scale, shift, size] = [at("scale"), at("shift"), at("size")];
  const buffer = (target, data) => {
    gl.bindBuffer(target, gl.createBuffer());
    gl.bufferData(target, data, gl.DYNAMIC_DRAW);
  };
  const attribute = (name, numbers, kind, normalized) => {
    const where = gl.getAttribLocation(program, name);
    gl.enableVertexAttribArray(where);
    gl.vertexAttribPointer(where, numbers, kind, normalized, 0, 0);
  };
  let looksBuffer = null;
  return {
    name: "webgl",
    ratio: () => window.devicePixelRatio || 1,
    places(places) {
      buffer(gl.ARRAY_BUFFER, places);
      attribute("place", 2, gl.FLOAT, false);
    },
    looks(looks, order) {
      if (looksBuffer === null) {
        looksBuffer = gl.createBuffer();
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
      }
      gl.bindBuffer(gl.ARRAY_BUFFER, looksBuffer);
      gl.bufferData(gl.ARRAY_BUFFER, looks, gl.DYNAMIC_DRAW);
      attribute("look", 4, gl.UNSIGNED_BYTE, true);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.DYNAMIC_DRAW);
    },
    draw({ kx, ky, ox, oy, width, height, point, first, last }) {
      const ratio = canvas.width / width;
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.uniform2f(scale, 2 * kx / width, -2 * ky / height); // pixels to -1 ... 1
      gl.uniform2f(shift, 2 * ox / width - 1, 1 - 2 * oy / height);
      gl.uniform1f(size, point * ratio);
      for (const [from, count] of [first, last]) if (count) gl.drawElements(gl.POINTS, count, gl.UNSIGNED_INT, 4 * from);
    },
    finish: () => gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)),
    end() {
      const lose = gl.getExtension("WEBGL_lose_context");
      if (lose) lose.loseContext();
    },
  };
}

/** The same without WebGL: opaque discs of whole pixels, written into the memory of an image. */
export function pixels(canvas) {
  const context = canvas.getContext("2d");
  let [places, order, image, memory] = [null, null, null, null];
  let colors = new Uint32Array(0); // of each point, mixed with the background
  let marks = new Uint8Array(0);
  return {
    name: "canvas",
    ratio: () => 1,
    places(given) { places = given; },
    looks(looks, given, background) {
      const n = looks.length / 4;
      order = given;
      colors = new Uint32Array(n);
      marks = new Uint8Array(n);
      for (let i = 0, j = 0; i < n; i++, j += 4) {
        const share = looks[j + 3] === DIM ? 0.12 : 1;
        const mixed = (k) => Math.round(share * looks[j + k] + (1 - share) * background[k]);
        colors[i] = (255 << 24 | mixed(2) << 16 | mixed(1) << 8 | mixed(0)) >>> 0; // bytes in the order of a little-endian machine
        marks[i] = looks[j + 3];
      }
    },
    draw({ kx, ky, ox, oy, point, first, last }) {
      const { width: w, height: h } = canvas;
      if (!image || image.width !== w || image.height !== h) {
        image = context.createImageData(w, h);
        memory = new Uint32Array(image.data.buffer);
      }
      memory.fill(0);
      const usual = disc(point, w), large = disc(1.5 * point + 1, w);
      for (const [from, count] of [first, last]) {
        for (let k = from; k < from + count; k++) {
          const i = order[k];
          const { offsets, reach } = marks[i] === MARKED ? large : usual;
          const x = Math.round(ox + places[2 * i] * kx), y = Math.round(oy + places[2 * i + 1] * ky);
          if (x < reach || y < reach || x >= w - reach || y >= h - reach) continue;
          const at = y * w + x, color = colors[i];
          for (let o = 0; o < offsets.length; o++) memory[at + offsets[o]] = color;
        }
      }
      context.putImageData(image, 0, 0);
    },
    finish: () => context.getImageData(0, 0, 1, 1),
    end() {},
  };
}

/** Where the pixels of a disc are from its middle, in an image of a width. */
function disc(size, width) {
  const reach = Math.ceil(size / 2), offsets = [];
  for (let y = -reach; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) if (x * x + y * y <= size * size / 4) offsets.push(y * width + x);
  }
  return { offsets: Int32Array.from(offsets.length ? offsets : [0]), reach };
}
