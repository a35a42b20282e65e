// The dependency graph, drawn from the places that the server found, with marginals on its nodes.

import { $, h, svg } from "./dom.js";
import { outwards } from "./bars.js";

const HEIGHT = 52;
const LEAST = 0.72;
const MOST = 1.3;
const BAR = { x: 10, y: 38, height: 6 };

export class Graph {
  constructor({ chosen, part }) {
    this.holder = $("#picture");
    this.chosen = chosen;
    this.part = part;
    this.nodes = new Map();
    this.selected = null;
    new ResizeObserver(() => this.fit()).observe(this.holder);
  }

  /** Draw a graph; without one say why there is none. */
  draw(graph) {
    this.nodes.clear();
    this.holder.replaceChildren();
    if (!graph || !graph.nodes.length) {
      this.say("Nothing depends on anything yet: write a sentence such as 0.2 <= P(rain) <= 0.4");
      return;
    }
    const observed = new Set(graph.observed);
    const picture = svg("svg", {
      viewBox: `0 0 ${graph.width} ${graph.height}`,
      width: graph.width,
      height: graph.height,
      role: "group",
      "aria-label": `Dependency graph of ${graph.nodes.length} nodes`,
    });
    picture.append(heads());
    for (const edge of graph.edges) picture.append(this.line(edge));
    for (const node of graph.nodes) picture.append(node.kind === "brace" ? brace(node) : this.node(node, observed.has(node.name)));
    this.holder.append(picture);
    for (const name of picture.querySelectorAll(".name")) squeeze(name);
    this.drawn = graph;
    this.fit();
    this.reveal(graph.focus);
    const shown = graph.nodes.filter((node) => isVariable(node)).length;
    this.note(shown < graph.variables ? `${shown} of ${graph.variables.toLocaleString("en")} variables, the nearest to the questions. Choose one to look around it.` : "");
    this.select(this.selected);
  }

  /** Say why there is no graph. */
  say(words) {
    this.drawn = null;
    this.holder.replaceChildren(h("p", { class: "empty" }, words));
    this.note("");
  }

  /** Let the picture fill its place, within reason: a large one scrolls. */
  fit() {
    const picture = this.holder.querySelector("svg");
    if (!picture || !this.drawn) return;
    const { width, height } = this.drawn;
    const isBeside = matchMedia("(min-width: 1000px)").matches;
    const high = isBeside ? Math.max(this.holder.clientHeight - 12, 200) : 2000;
    const scale = Math.max(LEAST, Math.min(MOST, (this.holder.clientWidth - 32) / width, high / height));
    picture.setAttribute("width", width * scale);
    picture.setAttribute("height", height * scale);
  }

  /** Scroll a large picture to the variable it is drawn around, or else to the first from above. */
  reveal(name) {
    const highest = this.drawn.nodes.reduce((one, other) => (other.y < one.y ? other : one));
    const node = this.drawn.nodes.find((each) => each.name === name) ?? highest;
    const picture = this.holder.querySelector("svg");
    const scale = picture.getAttribute("width") / this.drawn.width;
    this.holder.scrollTo(node.x * scale - this.holder.clientWidth / 2, node.y * scale - this.holder.clientHeight / 2);
  }

  note(words) {
    $("#graph-note").textContent = words;
  }

  line(edge) {
    return svg("path", { d: curve(edge.points), class: edge.tie ? "edge tie" : "edge", "marker-end": edge.tie ? null : "url(#head)" });
  }

  node(node, isObserved) {
    const { x, y, width } = node;
    const isFormula = !isVariable(node);
    const inner = width - 2 * BAR.x;
    const parts = {
      possible: svg("rect", { class: "possible", x: BAR.x, y: BAR.y, height: BAR.height, rx: 2, width: 0 }),
      attained: svg("rect", { class: "attained", x: BAR.x, y: BAR.y, height: BAR.height, rx: 2, width: 0 }),
      words: svg("text", { class: "interval", x: width / 2, y: 31, "text-anchor": "middle" }),
    };
    const choose = () => !isFormula && this.chosen(node.name);
    const group = svg(
      "g",
      {
        class: `node${isFormula ? " formula" : ""}${isObserved ? " observed" : ""}`,
        transform: `translate(${x - width / 2} ${y - HEIGHT / 2})`,
        tabindex: isFormula ? null : 0,
        role: isFormula ? "img" : "button",
        "aria-label": node.name,
        "data-name": node.name,
        onclick: choose,
        onkeydown: (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), choose()),
      },
      svg("title", {}, node.name),
      svg("rect", { class: "box", width, height: HEIGHT, rx: isFormula ? 3 : 10 }),
      svg("text", { class: "name", x: width / 2, y: isFormula ? 31 : 17, "text-anchor": "middle" }, node.shown),
    );
    if (!isFormula) {
      group.append(parts.words, svg("rect", { class: "track", x: BAR.x, y: BAR.y, width: inner, height: BAR.height, rx: 2 }), parts.possible, parts.attained);
      this.nodes.set(node.name, { group, inner, ...parts, isObserved });
    }
    return group;
  }

  /** Write a marginal on its node: of a proposition its own, of another variable that of its first value. */
  marginal(one) {
    const node = this.nodes.get(one.name);
    if (!node || (node.value !== undefined && node.value !== one.value)) return;
    node.value = one.value;
    node.group.classList.remove("old");
    const range = one.low === one.high ? one.low : `${outwards(one.lower, -1)} – ${outwards(one.upper, 1)}`;
    const value = one.value === "true" ? "" : `${one.value} `;
    node.words.textContent = `${value}${range}`;
    rect(node.possible, one.lower, one.upper, node.inner);
    const hasModels = one.lower_witnessed !== null && one.upper_witnessed !== null;
    rect(node.attained, hasModels ? one.lower_witnessed : 0, hasModels ? one.upper_witnessed : 0, hasModels ? node.inner : 0);
    const observed = node.isObserved ? ", observed" : "";
    node.group.setAttribute("aria-label", `${one.name}${value && ` = ${one.value}`}: between ${one.low} and ${one.high}${observed}`);
  }

  /** Let marginals look old until new ones come. */
  age() {
    for (const { group } of this.nodes.values()) group.classList.add("old");
  }

  /** Let the whole picture look old: the text has changed. */
  fade() {
    this.holder.classList.add("stale");
  }

  fresh() {
    this.holder.classList.remove("stale");
  }

  select(name) {
    this.selected = name;
    for (const [each, { group }] of this.nodes) group.classList.toggle("selected", each === name);
  }
}

/** Keep a name within its box: the server cannot know how wide the letters of this machine are. */
function squeeze(name) {
  const room = 2 * name.getAttribute("x") - 10;
  if (name.getComputedTextLength() > room) for (const [key, value] of [["textLength", room], ["lengthAdjust", "spacingAndGlyphs"]]) name.setAttribute(key, value);
}

function rect(element, low, high, inner) {
  element.setAttribute("x", BAR.x + low * inner);
  element.setAttribute("width", inner && Math.max((high - low) * inner, 1.5));
}

const isVariable = (node) => node.kind === "variable" || node.kind === "observed";

function heads() {
  const head = svg("marker", { id: "head", viewBox: "0 0 10 10", refX: 8.5, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 1 L9 5 L0 9 z" }));
  return svg("defs", {}, head);
}

/** The dot that joins variables which are all tied to each other. */
function brace({ x, y, width, name }) {
  return svg("circle", { class: "brace", cx: x, cy: y, r: width / 2 }, svg("title", {}, name));
}

/** A curve from its points: a start, then two handles and an end for each piece. */
function curve([start, ...rest]) {
  let path = `M${start}`;
  for (let i = 0; i + 2 < rest.length; i += 3) path += ` C${rest[i]} ${rest[i + 1]} ${rest[i + 2]}`;
  return path;
}
