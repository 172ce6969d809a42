// Layout of a graph in layers: a box is above all that its edges go to.
//
// A box is in the layer of its longest path down, so boxes without edges are at the bottom. An
// edge across several layers passes each of them in a place of its own, so that it is never drawn
// under a box. Orders within layers are those of their neighbours' means, with the fewest
// crossings found; places are the nearest to the neighbours' that keep boxes apart.

const LAYER_GAP = 38;
const BOX_GAP = 16;
const LANE = 10;
const SWEEPS = 8;

// `boxes` are [{ width, height, to: [index] }]; the result has their `places` [{ x, y }] (the middle
// of the upper side), and `routes`: for each box and edge the places between, [[x, top, bottom]].
function laidOut(boxes) {
  const depths = depthsOf(boxes);
  const { layers, chains } = slotsOf(boxes, depths);
  orderLayers(layers);
  placeSlots(layers);
  const slots = layers.flat();
  const left = Math.min(...slots.map(({ x, width }) => x - width / 2));
  for (const slot of slots) slot.x -= left;
  const tops = [];
  let height = 0;
  for (let depth = layers.length - 1; depth >= 0; depth--) {
    tops[depth] = height;
    height += Math.max(...layers[depth].map((slot) => slot.height)) + (depth ? LAYER_GAP : 0);
  }
  const bottoms = tops.map((top, depth) => top + Math.max(...layers[depth].map((slot) => slot.height)));
  const places = boxes.map((_, at) => {
    const slot = slots.find(({ box }) => box === at);
    return { x: slot.x, y: tops[depths[at]] };
  });
  const routes = chains.map((edges) => edges.map((lanes) => lanes?.map(({ x, depth }) => [x, tops[depth], bottoms[depth]]) ?? null));
  return { places, routes, height, width: Math.max(...slots.map(({ x, width }) => x + width / 2)) };
}

// The length of the longest path down from each box. No graph of autograd has a cycle; in a trace
// that claims one, it ends where it closes.
function depthsOf(boxes) {
  const depths = [];
  const depth = (at) => {
    if (depths[at] !== undefined) return depths[at];
    depths[at] = 0;
    depths[at] = Math.max(0, ...boxes[at].to.map((to) => depth(to) + 1));
    return depths[at];
  };
  boxes.forEach((_, at) => depth(at));
  return depths;
}

// Slots of each layer, for boxes and for edges that pass; of each edge the slots that it passes.
function slotsOf(boxes, depths) {
  const layers = Array.from({ length: Math.max(...depths) + 1 }, () => []);
  const slots = boxes.map(({ width, height }, box) => ({ box, width, height, depth: depths[box], up: [], down: [] }));
  const chains = boxes.map(() => []);
  const entered = new Set();
  const enter = (at) => {
    if (entered.has(at)) return;
    entered.add(at);
    layers[depths[at]].push(slots[at]);
    boxes[at].to.forEach((to, edge) => {
      if (depths[to] >= depths[at]) return chains[at].push(null); // closes a cycle
      const lanes = [];
      let above = slots[at];
      for (let depth = depths[at] - 1; depth > depths[to]; depth--) {
        const lane = { width: LANE, height: 0, depth, up: [], down: [] };
        layers[depth].push(lane);
        link(above, lane);
        lanes.push(lane);
        above = lane;
      }
      link(above, slots[to]);
      chains[at][edge] = lanes;
      enter(to);
    });
  };
  boxes.forEach((_, at) => enter(at));
  return { layers, chains };
}

function link(above, below) {
  above.down.push(below);
  below.up.push(above);
}

function orderLayers(layers) {
  const number = () => layers.forEach((layer) => layer.forEach((slot, order) => { slot.order = order; }));
  number();
  let best = layers.map((layer) => [...layer]);
  let fewest = crossings(layers);
  for (let sweep = 0; sweep < SWEEPS && fewest; sweep++) {
    const [side, walk] = sweep % 2 ? ["down", [...layers]] : ["up", [...layers].reverse()];
    for (const layer of walk) {
      for (const slot of layer) slot.wish = mean(slot[side].map(({ order }) => order)) ?? slot.order;
      layer.sort((one, two) => one.wish - two.wish);
      layer.forEach((slot, order) => { slot.order = order; });
    }
    const found = crossings(layers);
    if (found < fewest) [fewest, best] = [found, layers.map((layer) => [...layer])];
  }
  best.forEach((layer, depth) => layers[depth].splice(0, Infinity, ...layer));
  number();
}

function crossings(layers) {
  let found = 0;
  for (const layer of layers) {
    const ends = layer.flatMap((slot) => slot.down.map((below) => [slot.order, below.order]));
    for (const [at, one] of ends.entries()) {
      for (const two of ends.slice(at + 1)) found += (one[0] - two[0]) * (one[1] - two[1]) < 0;
    }
  }
  return found;
}

const mean = (values) => (values.length ? values.reduce((one, two) => one + two, 0) / values.length : null);

function placeSlots(layers) {
  for (const layer of layers) place(layer, layer.map(() => 0));
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const [sides, walk] = sweep === SWEEPS - 1 ? [["up", "down"], layers] : sweep % 2 ? [["down"], layers] : [["up"], [...layers].reverse()];
    for (const layer of walk) {
      place(layer, layer.map((slot) => mean(sides.flatMap((side) => slot[side].map(({ x }) => x))) ?? slot.x));
    }
  }
}

// Places in their order, as near to the wished ones as the widths allow: neighbours that would
// overlap form a group, which stands at the mean of its wishes.
function place(layer, wishes) {
  let from = 0;
  const starts = layer.map((slot, at) => {
    const before = layer[at - 1];
    from += before ? (before.width + slot.width) / 2 + BOX_GAP : 0;
    return from;
  });
  const groups = [];
  wishes.forEach((wish, at) => {
    let group = { sum: wish - starts[at], count: 1 };
    while (groups.length && groups.at(-1).sum / groups.at(-1).count > group.sum / group.count) {
      const { sum, count } = groups.pop();
      group = { sum: group.sum + sum, count: group.count + count };
    }
    groups.push(group);
  });
  const shifts = groups.flatMap(({ sum, count }) => Array(count).fill(sum / count));
  layer.forEach((slot, at) => { slot.x = starts[at] + shifts[at]; });
}
