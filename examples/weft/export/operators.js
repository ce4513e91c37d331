
// ---- The network: its operators, which are those of ONNX, one image at a time. A value is {shape, data}: the
// extents, of which the first is a batch of 1, and 32-bit floats. Sums are of 64-bit floats.
const product = numbers => numbers.reduce((a, b) => a * b, 1);
const valueOf = (shape, data) => ({shape, data: data || new Float32Array(product(shape))});

const map = formula => (x, attributes) => valueOf(x.shape, x.data.map(formula(attributes)));

// Two values of one shape, or a value and a number.
const pairwise = formula => (a, _, b) =>
  valueOf(a.shape, a.data.map((value, i) => formula(value, typeof b === "number" ? b : b.data[i])));

// By its series, of which no two terms have different signs.
function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x, sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); ++n) sum += term *= 2 * x * x / (2 * n + 1);
  return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
}

// Normalises `groups` parts of an image; entry i of a part has weight and bias `first + Math.floor(i / each)`.
function normalised(x, weight, bias, epsilon, groups, each) {
  const y = valueOf(x.shape), count = x.data.length / groups;
  for (let group = 0; group < groups; ++group) {
    const from = group * count;
    let sum = 0, squares = 0;
    for (let i = from; i < from + count; ++i) sum += x.data[i];
    const mean = sum / count;
    for (let i = from; i < from + count; ++i) squares += (x.data[i] - mean) ** 2;
    const factor = 1 / Math.sqrt(squares / count + epsilon);
    for (let i = from; i < from + count; ++i) {
      const at = Math.floor(i / each);
      y.data[i] = (x.data[i] - mean) * factor * weight.data[at] + bias.data[at];
    }
  }
  return y;
}

const planeOf = shape => product(shape.slice(2));

// Where windows lie along one axis: {count, begin(i), end(i), counted(i)}. The last is how many of its entries
// lie in the input or its padding.
function windows(extent, kernel, stride, before, behind, ceil, dilation = 1) {
  const room = extent + before + behind - dilation * (kernel - 1) - 1;
  let count = Math.floor(room / stride) + 1;
  if (ceil && room % stride !== 0 && count * stride < extent + before) ++count;
  const begin = i => i * stride - before;
  return {count, begin, counted: i => Math.min(begin(i) + kernel, extent + behind) - begin(i)};
}

function axes({kernel_shape, strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = 0}, height, width) {
  return [windows(height, kernel_shape[0], strides[0], pads[0], pads[2], ceil_mode, dilations[0]),
          windows(width, kernel_shape[1], strides[1], pads[1], pads[3], ceil_mode, dilations[1])];
}

// `reduce(values in the window, how many a mean counts)`.
const pooled = reduce => (x, attributes) => {
  const [, channels, height, width] = x.shape, [kh, kw] = attributes.kernel_shape;
  const [rows, columns] = axes(attributes, height, width);
  const y = valueOf([1, channels, rows.count, columns.count]);
  let at = 0;
  for (let c = 0; c < channels; ++c) {
    for (let p = 0; p < rows.count; ++p) {
      for (let q = 0; q < columns.count; ++q) {
        const values = [];
        for (let i = Math.max(0, rows.begin(p)); i < Math.min(height, rows.begin(p) + kh); ++i) {
          for (let j = Math.max(0, columns.begin(q)); j < Math.min(width, columns.begin(q) + kw); ++j) {
            values.push(x.data[(c * height + i) * width + j]);
          }
        }
        y.data[at++] = reduce(values, attributes.count_include_pad ? rows.counted(p) * columns.counted(q) : values.length);
      }
    }
  }
  return y;
};

const whole = pool => x => pool(x, {kernel_shape: x.shape.slice(2)});
const largest = values => values.reduce((a, b) => Math.max(a, b), -Infinity);
const maxPool = pooled(largest), averagePool = pooled((values, count) => values.reduce((a, b) => a + b, 0) / count);

function conv(x, attributes, weight, bias) {
  const [, channels, height, width] = x.shape, [filters, depth, kh, kw] = weight.shape;
  const {group = 1, dilations = [1, 1]} = attributes, [rows, columns] = axes(attributes, height, width);
  const y = valueOf([1, filters, rows.count, columns.count]), sums = new Float64Array(rows.count * columns.count);
  for (let f = 0; f < filters; ++f) {
    sums.fill(bias ? bias.data[f] : 0);
    const first = Math.floor(f / (filters / group)) * (channels / group);
    for (let c = 0; c < depth; ++c) {
      for (let i = 0; i < kh; ++i) {
        for (let j = 0; j < kw; ++j) {
          const factor = weight.data[((f * depth + c) * kh + i) * kw + j];
          const left = columns.begin(0) + j * dilations[1], step = columns.begin(1) - columns.begin(0);
          const begin = Math.max(0, Math.ceil(-left / step)), end = Math.min(columns.count, Math.ceil((width - left) / step));
          for (let p = 0; p < rows.count; ++p) {
            const row = rows.begin(p) + i * dilations[0];
            if (row < 0 || row >= height) continue;
            const from = ((first + c) * height + row) * width + left, to = p * columns.count;
            for (let q = begin; q < end; ++q) sums[to + q] += factor * x.data[from + q * step];
          }
        }
      }
    }
    y.data.set(sums, f * sums.length);
  }
  return y;
}

function gemm(x, _, weight, bias) {  // alpha and beta 1, and the weight transposed, as Linear says it
  const [features, depth] = weight.shape, y = valueOf([1, features]);
  for (let o = 0; o < features; ++o) {
    let sum = bias ? bias.data[o] : 0;
    for (let i = 0; i < depth; ++i) sum += x.data[i] * weight.data[o * depth + i];
    y.data[o] = sum;
  }
  return y;
}

function batchNorm(x, {epsilon = 1e-5}, weight, bias, mean, variance) {
  const plane = planeOf(x.shape);
  return valueOf(x.shape, x.data.map((value, i) => {
    const c = Math.floor(i / plane);
    return (value - mean.data[c]) / Math.sqrt(variance.data[c] + epsilon) * weight.data[c] + bias.data[c];
  }));
}

function padded(x, {mode = "constant"}, pads) {
  const [, channels, height, width] = x.shape, [, , top, left, , , bottom, right] = pads;
  const y = valueOf([1, channels, height + top + bottom, width + left + right]);
  // The place in the input; -1 outside.
  const source = {
    constant: (at, extent) => at < extent ? at : -1,
    edge: (at, extent) => Math.min(Math.max(at, 0), extent - 1),
    reflect: (at, extent) => at < 0 ? -at : at < extent ? at : 2 * (extent - 1) - at,
  }[mode];
  let to = 0;
  for (let c = 0; c < channels; ++c) {
    for (let i = -top; i < height + bottom; ++i) {
      for (let j = -left; j < width + right; ++j) {
        const row = source(i, height), column = source(j, width);
        y.data[to++] = row < 0 || column < 0 ? 0 : x.data[(c * height + row) * width + column];
      }
    }
  }
  return y;
}

function prelu(x, _, slopes) {
  const each = x.data.length / slopes.data.length;
  return valueOf(x.shape, x.data.map((value, i) => value < 0 ? value * slopes.data[Math.floor(i / each)] : value));
}

function concat(a, _, b) {  // of axis 1
  const y = valueOf([1, a.shape[1] + b.shape[1], ...a.shape.slice(2)]);
  y.data.set(a.data);
  y.data.set(b.data, a.data.length);
  return y;
}

const clamped = (value, low, high) => Math.min(Math.max(value, low), high);

// `weft export` looks for an operator's name here: a line that begins with it is an operator that the page has.
const operators = {
  Add: pairwise((a, b) => a + b),
  AveragePool: averagePool,
  BatchNormalization: batchNorm,
  Clip: (x, _, low, high) => valueOf(x.shape, x.data.map(value => clamped(value, low, high))),
  Concat: concat,
  Conv: conv,
  Div: pairwise((a, b) => a / b),
  Elu: map(({alpha = 1}) => value => value < 0 ? alpha * Math.expm1(value) : value),
  Erf: map(() => erf),
  Flatten: x => valueOf([1, x.data.length], x.data),
  Gemm: gemm,
  GlobalAveragePool: whole(averagePool),
  GlobalMaxPool: whole(maxPool),
  GroupNormalization: (x, {num_groups, epsilon = 1e-5}, weight, bias) =>
    normalised(x, weight, bias, epsilon, num_groups, planeOf(x.shape)),
  HardSigmoid: map(({alpha = 0.2, beta = 0.5}) => value => clamped(alpha * value + beta, 0, 1)),
  HardSwish: map(() => value => value * clamped(value / 6 + 0.5, 0, 1)),
  InstanceNormalization: (x, {epsilon = 1e-5}, weight, bias) =>
    normalised(x, weight, bias, epsilon, x.shape[1], planeOf(x.shape)),
  LayerNormalization: (x, {epsilon = 1e-5}, weight, bias) => normalised(x, weight, bias, epsilon, 1, 1),
  LeakyRelu: map(({alpha = 0.01}) => value => value < 0 ? alpha * value : value),
  MaxPool: maxPool,
  Mul: pairwise((a, b) => a * b),
  PRelu: prelu,
  Pad: padded,
  Relu: map(() => value => Math.max(value, 0)),
  Sigmoid: map(() => value => 1 / (1 + Math.exp(-value))),
  Tanh: map(() => Math.tanh),
  Unsqueeze: x => x,  // of slopes, whose extents say nothing here
};

// The logits of normalised pixels, (channels, height, width).
function logitsOf(pixels) {
  const values = [valueOf([1, network.channels, network.height, network.width], pixels)];
  const inputOf = ([kind, what]) => kind === "value" ? values[what] : kind === "tensor" ? network.tensors[what] : what;
  for (const {type, attributes, inputs} of network.nodes) {
    const [x, ...others] = inputs.map(inputOf);
    values.push(operators[type](x, attributes, ...others));
  }
  return values[network.output].data;
}
