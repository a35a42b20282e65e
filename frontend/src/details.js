// One variable, looked at: what it depends on, what it is independent of, what is said of it.

import { $, h } from "./dom.js";
import { Bar } from "./bars.js";

/** Show a variable; `act` has what its buttons do. */
export function showDetails(node, marginals, act, isFocused) {
  const panel = $("#details");
  const rows = marginals.map((one) => {
    const bar = new Bar();
    bar.draw(one);
    return h("div", { class: "row" }, h("span", { class: "code" }, one.query), h("span", { class: "numbers" }, one.low === one.high ? one.low : `${one.low} – ${one.high}`), bar.element);
  });
  panel.replaceChildren(
    h("div", { class: "title" }, h("h3", { tabindex: -1 }, node.name), h("button", { class: "plain", "aria-label": "Close", onclick: act.close }, "×")),
    ...rows,
    observing(node, act),
    ...parents(node, act),
    ...independent(node, act),
    ...sentences(node, act),
  );
  panel.onkeydown = (event) => event.key === "Escape" && act.close();
  panel.hidden = false;
  if (!isFocused) return;
  panel.querySelector("h3").focus({ preventScroll: true });
  panel.scrollIntoView({ block: "nearest" });
}

function observing(node, act) {
  const choices = node.values.length
    ? node.values.map((value) => [`${quoted(node.name)} = ${quotedValue(value)}`, value])
    : [[quoted(node.name), "true"], [`!${quoted(node.name)}`, "false"]];
  const buttons = choices.map(([formula, word]) => h("button", { onclick: () => act.observe(formula) }, word));
  return h("p", { class: "observe" }, "Observe it as ", ...buttons);
}

const isPlain = (name) => /^[\p{L}_][\p{L}\p{N}_]*'*(\([^"]*\))?$/u.test(name);
const inQuotes = (name) => `"${name.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;

/** Write a name as the language does; the server's names of atoms are written already. */
export const quoted = (name) => (isPlain(name) || name.startsWith('"') ? name : inQuotes(name));
export const quotedValue = (value) => (/^-?\d+$/.test(value) || isPlain(value) ? value : inQuotes(value));

function names(list, act) {
  return list.flatMap((name, i) => [i ? " " : "", h("button", { class: "name", onclick: () => act.look(name) }, name)]);
}

function parents(node, act) {
  if (!node.parents.length) return [h("h4", {}, "Parents"), h("p", {}, "None: no sentence conditions it on anything, nor ties it to anything.")];
  const tied = node.parents.filter((name) => node.children.includes(name));
  const words = tied.length ? h("p", { class: "quiet" }, `Tied both ways: ${tied.join(", ")}.`) : null;
  return [h("h4", {}, "Parents: it depends directly on"), h("p", { class: "names" }, ...names(node.parents, act)), words].filter(Boolean);
}

function independent(node, act) {
  const given = node.parents.length ? `given ${node.parents.join(", ")}` : "of its own accord";
  const declared = node.declared.map((words) => h("p", { class: "code" }, words));
  if (!node.independent.length) return [h("h4", {}, "Independences"), h("p", {}, "None: everything else descends from it, or is a parent."), ...declared];
  return [h("h4", {}, `Independent, ${given}, of`), h("p", { class: "names" }, ...names(node.independent, act)), ...declared];
}

function sentences(node, act) {
  const items = node.sentences.map((one) =>
    h(
      "li",
      {},
      h(
        "button",
        { class: "sentence", onclick: () => act.show(one), onmouseenter: () => act.notice([one]), onmouseleave: () => act.notice([]) },
        h("span", { class: "where" }, one.line ? `${one.file ? `${one.file}:` : ""}${one.line}` : ""),
        h("span", { class: "code" }, one.says),
      ),
    ),
  );
  const heading = items.length ? "Sentences about it" : "No sentence is about it";
  return [h("h4", {}, heading), h("ul", { class: "sentences" }, ...items)];
}
